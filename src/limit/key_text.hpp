// SPDX-License-Identifier: Apache-2.0
// Escaping the values in counter keys. Special are `: { } % #` and control bytes; they are written %XX.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::limit {

bool has_special(std::string_view text) noexcept;
std::size_t escaped_size(std::string_view text) noexcept;
// Writes escaped_size(text) bytes to `out`; returns their end.
char* write_escaped(char* out, std::string_view text) noexcept;

}  // namespace weir::limit
