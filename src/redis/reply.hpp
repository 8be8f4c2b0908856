// SPDX-License-Identifier: Apache-2.0
// A RESP2 reply as a value, and the reader that makes it from bytes (hiredis' parser, our own objects: one
// allocation for an array of integers instead of one per element).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"

struct redisReader;

namespace weir::redis {

struct Reply {
  enum class Type : std::uint8_t { nil, integer, text, status, error, array };

  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text;  // of text, status, error
  std::vector<Reply> elements;
};

// Not thread-safe. After an error the reader is of no more use: the stream has lost its place.
class ReplyReader {
 public:
  // `max_reply_bytes`: a single reply larger than this is a protocol error, before its memory is taken.
  explicit ReplyReader(std::size_t max_reply_bytes);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Takes bytes off the wire. ErrorKind::protocol if they cannot be buffered.
  error_code feed(std::string_view bytes);

  enum class Progress : std::uint8_t { complete, partial, broken };
  // complete: `reply` is the next one; partial: more bytes are needed; broken: this is not RESP, or too
  // large.
  Progress next(Reply& reply);

 private:
  friend struct ReplyBuilder;

  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
  Reply root_;
  std::size_t max_reply_bytes_;
  std::size_t unfinished_bytes_ = 0;
};

}  // namespace weir::redis
