// SPDX-License-Identifier: Apache-2.0
// Finds the end of a message head and judges its lines before their grammar is read (head_lines.hpp). Works
// at every split of the bytes. Pure. Rules: lines end in CRLF only; no bare CR or LF, no NUL; no line folding
// (RFC 9112 2.2, 5.2).
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::http {

class HeadScanner {
 public:
  static constexpr std::size_t kLeadingBlankLines = 4;  // tolerated before the first line (RFC 9112 2.2)

  struct Limits {
    std::size_t first_line_bytes = 0;
    std::size_t bytes = 0;  // first line and fields together, over all reads
    std::size_t fields = 0;
  };
  enum class State : std::uint8_t {
    incomplete,
    complete,
    malformed,
    first_line_too_long,
    too_long,
    too_many_fields
  };

  // `bytes` is everything that arrived of this message; call again with the same bytes and more behind them.
  State scan(std::string_view bytes, const Limits& limits) noexcept;
  void reset() noexcept { *this = {}; }
  bool began() const noexcept { return scanned_ > 0; }

  // Once complete: where the first line begins (after blank lines), and where the head ends (after its blank
  // line).
  std::size_t begin() const noexcept { return begin_; }
  std::size_t end() const noexcept { return line_; }

 private:
  State take_line(std::string_view line, const Limits& limits, std::size_t next) noexcept;

  std::size_t begin_ = 0;
  std::size_t line_ = 0;     // start of the current line
  std::size_t scanned_ = 0;  // judged up to here
  std::size_t lines_ = 0;
};

}  // namespace weir::http
