// SPDX-License-Identifier: Apache-2.0
#include "http/head_scanner.hpp"

#include "http/characters.hpp"
#include "weir/base/octets.hpp"

namespace weir::http {
namespace {

constexpr bool is_line_octet(char c) noexcept {
  return c == '\r' || c == '\n' || c == '\0';
}

// Where the next CR, LF or NUL is from `from` on; bytes.size() if there is none. Words without any control
// character, nearly all, are passed over as a whole.
std::size_t find_line_octet(std::string_view bytes, std::size_t from) noexcept {
  std::size_t n = from;
  while (n + 8 <= bytes.size()) {
    const std::uint64_t marks = octets_below(eight_octets(bytes.data() + n), '\r' + 1);
    n += marks == 0 ? 8 : first_marked(marks);
    if (marks == 0) continue;
    if (is_line_octet(bytes[n])) return n;
    ++n;
  }
  while (n < bytes.size() && !is_line_octet(bytes[n])) ++n;
  return n;
}

}  // namespace

HeadScanner::State HeadScanner::scan(std::string_view bytes, const Limits& limits) noexcept {
  for (;;) {
    // Looks at each byte once, however slowly they come.
    scanned_ = find_line_octet(bytes, scanned_);
    if (scanned_ == bytes.size()) break;
    if (bytes[scanned_] != '\r') return State::malformed;
    if (scanned_ + 1 == bytes.size()) break;  // the LF may yet come
    if (bytes[scanned_ + 1] != '\n') return State::malformed;
    const State state = take_line(bytes.substr(line_, scanned_ - line_), limits, scanned_ + 2);
    if (state != State::incomplete) return state;
  }
  const std::size_t unfinished = scanned_ - line_;  // without a CR whose LF is yet to come
  if (lines_ == 0 && unfinished > limits.first_line_bytes) return State::first_line_too_long;
  return bytes.size() - begin_ > limits.bytes ? State::too_long : State::incomplete;
}

// `line` is without its CRLF; `next` is where the line after it begins.
HeadScanner::State HeadScanner::take_line(std::string_view line, const Limits& limits,
                                          std::size_t next) noexcept {
  line_ = scanned_ = next;
  if (line.empty() && lines_ > 0) return next - begin_ > limits.bytes ? State::too_long : State::complete;
  if (line.empty()) {
    begin_ = next;
    return next > 2 * kLeadingBlankLines ? State::malformed : State::incomplete;
  }
  if (is_blank(line.front())) return State::malformed;
  ++lines_;
  if (lines_ == 1 && line.size() > limits.first_line_bytes) return State::first_line_too_long;
  if (next - begin_ > limits.bytes) return State::too_long;
  return lines_ - 1 > limits.fields ? State::too_many_fields : State::incomplete;
}

}  // namespace weir::http
