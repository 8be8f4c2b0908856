// SPDX-License-Identifier: Apache-2.0
// The grammar of a head's lines (RFC 9112 3, 4, 5), strictly and in one pass: nothing is repaired, folded or
// copied. What is found are views into the bytes. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "weir/http/message.hpp"

namespace weir::http {

struct StatusLine {
  int status = 0;  // 100 to 599
  std::string_view reason;
  int version_minor = 1;
};

// `line` without its CRLF: HTTP/1.0 or 1.1, three digits, and a reason that may be empty. Nothing if it is
// something else.
std::optional<StatusLine> read_status_line(std::string_view line) noexcept;

// `bytes` is what follows the first line. Replaces `fields` by those up to the blank line, values without
// surrounding white space, and returns how many bytes they take, the blank line among them. 0 if it does not
// come, if there are more than `most`, if a name is no token or ends in white space, or if a value has a
// control character other than HTAB.
std::size_t read_field_lines(std::string_view bytes, std::size_t most, Fields& fields);

// Whether a control character (RFC 5234 CTL, HTAB too) is among them.
bool has_control(std::string_view text) noexcept;

}  // namespace weir::http
