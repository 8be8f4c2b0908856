// SPDX-License-Identifier: Apache-2.0
#include "http/head_scanner.hpp"

#include <algorithm>

#include "http/characters.hpp"

namespace weir::http {
namespace {

bool has_cr_or_nul(std::string_view text) noexcept {
  return text.find('\r') != std::string_view::npos || text.find('\0') != std::string_view::npos;
}

// A CR at the very end of an unfinished line may yet be followed by its LF.
bool broken_so_far(std::string_view unfinished) noexcept {
  if (unfinished.ends_with('\r')) unfinished.remove_suffix(1);
  return has_cr_or_nul(unfinished);
}

}  // namespace

HeadScanner::State HeadScanner::scan(std::string_view bytes, const Limits& limits) noexcept {
  for (;;) {
    const std::size_t feed = bytes.find('\n', scanned_);
    if (feed == std::string_view::npos) break;
    const State state = take_line(bytes.substr(line_, feed - line_), limits, feed + 1);
    if (state != State::incomplete) return state;
  }
  // Look at each byte of the unfinished line once, however slowly it comes.
  if (broken_so_far(bytes.substr(scanned_))) return State::malformed;
  scanned_ = std::max(scanned_, bytes.size() - (bytes.ends_with('\r') ? 1 : 0));
  const std::size_t unfinished = bytes.size() - line_;
  if (lines_ == 0 && unfinished > limits.first_line_bytes) return State::first_line_too_long;
  return bytes.size() - begin_ > limits.bytes ? State::too_long : State::incomplete;
}

// `line` is without its LF; `next` is where the line after it begins.
HeadScanner::State HeadScanner::take_line(std::string_view line, const Limits& limits,
                                          std::size_t next) noexcept {
  if (!line.ends_with('\r')) return State::malformed;
  line.remove_suffix(1);
  if (has_cr_or_nul(line)) return State::malformed;
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
