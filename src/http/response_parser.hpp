// SPDX-License-Identifier: Apache-2.0
// From an upstream's bytes to a ResponseHead that may be shown to a client. As strict as for requests: what
// is ambiguous is refused and becomes a 502. Works at every split of the bytes. No I/O.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/head_scanner.hpp"
#include "weir/http/message.hpp"

namespace weir::http {

class ResponseParser {
 public:
  static constexpr std::size_t kHeaderBytes = 64 * 1024 - 1;
  static constexpr std::size_t kHeaderCount = 256;
  enum class State : std::uint8_t { incomplete, complete, refused };

  // As RequestParser::parse(). The answer to HEAD has no body, whatever its fields say;
  // 1xx, 204 and 304 have none either. Without length and chunked the body ends with the connection.
  State parse(std::string_view bytes, Method request_method, ResponseHead& head);
  void reset() noexcept { *this = {}; }
  std::size_t head_end() const noexcept { return head_end_; }

 private:
  static State judge(Method request_method, ResponseHead& head) noexcept;

  HeadScanner scanner_;
  std::size_t head_end_ = 0;
};

}  // namespace weir::http
