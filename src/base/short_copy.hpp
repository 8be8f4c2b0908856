// SPDX-License-Identifier: Apache-2.0
// Copying texts that are short as a rule: two moves that may overlap are cheaper than a call of memcpy. Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace weir {

// Returns the end of what it wrote.
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

}  // namespace weir
