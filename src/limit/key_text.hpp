// SPDX-License-Identifier: Apache-2.0
// The bytes of counter keys: copying the short pieces that a key is made of, and escaping the values in it.
// Special are `: { } % #` and control bytes; they are written %XX.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace weir::limit {

bool has_special(std::string_view text) noexcept;
std::size_t escaped_size(std::string_view text) noexcept;
// Writes escaped_size(text) bytes to `out`; returns their end, as the others do.
char* write_escaped(char* out, std::string_view text) noexcept;

// Pieces of a key are short: two moves that may overlap are cheaper than a call of memcpy.
inline char* copy(char* out, std::string_view text) {
  const std::size_t size = text.size();
  const char* const from = text.data();
  if (size > 16) {
    std::memcpy(out, from, size);
  } else if (size >= 8) {
    std::memcpy(out, from, 8);
    std::memcpy(out + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(out, from, 4);
    std::memcpy(out + size - 4, from + size - 4, 4);
  } else {
    for (std::size_t n = 0; n < size; ++n) out[n] = from[n];
  }
  return out + size;
}

// May write up to kBlock - 1 bytes more, and read as many.
inline constexpr std::size_t kBlock = 16;

inline char* copy_blocks(char* out, const char* from, std::size_t size) {
  for (std::size_t at = 0; at < size; at += kBlock) std::memcpy(out + at, from + at, kBlock);
  return out + size;
}

}  // namespace weir::limit
