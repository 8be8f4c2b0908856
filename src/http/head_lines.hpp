// SPDX-License-Identifier: Apache-2.0
// The grammar of a head's lines (RFC 9112 3, 4, 5), strictly and in one pass: nothing is repaired, folded or
// copied. What is found are views into the bytes. Give it lines that HeadScanner found complete. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

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

// `lines` is what follows the first line, up to and with the blank line. Replaces `fields` by theirs, values
// without surrounding white space. False if a name is no token or ends in white space, or if a value has a
// control character other than HTAB.
bool read_field_lines(std::string_view lines, std::vector<Field>& fields);

// Whether a control character (RFC 5234 CTL, HTAB too) is among them.
bool has_control(std::string_view text) noexcept;

}  // namespace weir::http
