// SPDX-License-Identifier: Apache-2.0
// Decodes one message body as it comes: counts lengths, decodes chunks, knows where the message ends. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/chunk_decoder.hpp"
#include "weir/http/message.hpp"

namespace weir::http {

class BodyReader {
 public:
  struct Piece {
    std::string_view bytes;    // decoded, at the front of the buffer given
    std::size_t consumed = 0;  // of the buffer; behind it the next message begins (once done)
  };

  BodyReader() = default;
  explicit BodyReader(Framing framing) noexcept
      : kind_(framing.kind),
        left_(framing.length),
        done_(framing.kind == BodyKind::none || is_empty(framing)) {}

  // Decodes in place. Check broken() afterwards.
  Piece feed(char* data, std::size_t size) {
    Piece piece;
    if (done_) return piece;
    if (kind_ == BodyKind::chunked) {
      const ChunkDecoder::Step step = chunks_.decode(data, size);
      piece = {{data, step.decoded}, step.consumed};
      done_ = chunks_.done();
    } else if (kind_ == BodyKind::length) {
      piece.consumed = left_ < size ? static_cast<std::size_t>(left_) : size;
      piece.bytes = {data, piece.consumed};
      left_ -= piece.consumed;
      done_ = left_ == 0;
    } else {
      piece = {{data, size}, size};
    }
    return piece;
  }

  // Where a chunked body's trailer lines go; nullptr drops them. For as long as this object lives.
  void collect_trailers(std::string* into) noexcept { chunks_.collect_trailers(into); }

  // The connection ended. True if that was a proper end of this body.
  bool end() noexcept {
    if (kind_ == BodyKind::until_close) done_ = true;
    return done_;
  }

  bool done() const noexcept { return done_; }
  bool broken() const noexcept { return chunks_.broken(); }
  BodyKind kind() const noexcept { return kind_; }
  std::uint64_t left() const noexcept { return left_; }  // of a `length` body

  // How much may be read from the connection without touching the next message, at most `room`.
  std::size_t wanted(std::size_t room) const noexcept {
    return kind_ == BodyKind::length && left_ < room ? static_cast<std::size_t>(left_) : room;
  }

 private:
  static bool is_empty(Framing framing) noexcept {
    return framing.kind == BodyKind::length && framing.length == 0;
  }

  ChunkDecoder chunks_;
  BodyKind kind_ = BodyKind::none;
  std::uint64_t left_ = 0;
  bool done_ = true;
};

}  // namespace weir::http
