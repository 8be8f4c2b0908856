// SPDX-License-Identifier: Apache-2.0
// Which trailer fields of a chunked message are passed on: those on the cluster's list, as trailers, never
// merged into the fields (RFC 9110 6.5.1). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::upstream {

// Fields that give a message its framing, routing or credentials, or that only mean something before the
// content: no list can admit them. `name` in lower case.
bool never_a_trailer(std::string_view name) noexcept;

// Appends the lines of `section` (complete lines "Name: value\r\n", as they were received and checked) whose
// names `allowed` (lower case) holds.
void append_trailers(std::string& out, std::string_view section, const std::vector<std::string>& allowed);

}  // namespace weir::upstream
