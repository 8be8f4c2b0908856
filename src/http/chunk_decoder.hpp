// SPDX-License-Identifier: Apache-2.0
// The chunked coding (RFC 9112 7.1), strictly: CRLF only, hex digits only, bounded lines, extensions checked
// and dropped, trailers checked, nothing after the end touched. Works at every split of the
// bytes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http {

class ChunkDecoder {
 public:
  static constexpr std::size_t kLineBytes = 4096;  // chunk size and extension
  static constexpr std::size_t kTrailerBytes = 16 * 1024;
  static constexpr std::size_t kExcessBytes = 64 * 1024;  // framing beyond what the data justifies

  struct Step {
    std::size_t decoded = 0;  // body bytes, now at the front of the buffer
    std::size_t consumed =
        0;  // bytes of the buffer that were used; behind them: the next message (once done)
  };

  // Decodes in place: body bytes move to the front of `data`. Uses all bytes unless the body ends or breaks.
  Step decode(char* data, std::size_t size);

  // Trailer lines are appended to `into` as they come ("Name: value\r\n", checked); nullptr drops them.
  void collect_trailers(std::string* into) noexcept { trailers_ = into; }

  bool done() const noexcept { return state_ == State::done; }
  bool broken() const noexcept { return state_ == State::broken; }

 private:
  enum class State : std::uint8_t {
    size,         // hex digits
    extension,    // from ';' to the CR, outside quotes
    quoted,       // inside a quoted string
    quoted_pair,  // after its backslash
    size_feed,    // the LF of the size line
    data,
    data_return,  // the CR after the data
    data_feed,
    trailer_start,  // first byte of a trailer line or of the final CRLF
    trailer_name,
    trailer_value,
    trailer_feed,
    end_feed,  // the last LF
    done,
    broken,
  };

  void take_framing_byte(char c);
  State after_size_byte(char c) noexcept;
  State after_extension_byte(char c) noexcept;
  State after_quoted_byte(char c) noexcept;
  State after_trailer_byte(char c) noexcept;

  std::string* trailers_ = nullptr;
  std::uint64_t left_ = 0;    // data bytes left in this chunk
  std::uint64_t excess_ = 0;  // framing bytes beyond 16 a chunk and one per data byte
  std::uint32_t line_ = 0;    // bytes of the current size line, or of all trailers
  std::uint8_t digits_ = 0;
  State state_ = State::size;
};

}  // namespace weir::http
