// SPDX-License-Identifier: Apache-2.0
#include "limit/key_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace weir::limit {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";

constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (std::size_t byte = 0; byte < 32; ++byte) special[byte] = true;
  special[127] = true;
  for (const char byte : {':', '{', '}', '%', '#'}) special[static_cast<unsigned char>(byte)] = true;
  return special;
}();

bool is_special(char byte) {
  return kSpecial[static_cast<unsigned char>(byte)];
}

// kSpecial, asked of 16 bytes at once: nearly all values have no special byte, and all are asked.
using Bytes16 = std::uint8_t __attribute__((vector_size(16)));

bool any_special(Bytes16 bytes) {
  const auto special = (bytes < 32) | (bytes == 127) | (bytes == ':') | (bytes == '{') | (bytes == '}') |
                       (bytes == '%') | (bytes == '#');
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(special);
  return (halves[0] | halves[1]) != 0;
}

template <class Word>
Word load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

// Two loads that may overlap cover all lengths from a word's to twice that.
bool has_special(std::string_view text) noexcept {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  if (text.size() > 16) {
    for (const char* at = begin; end - at > 16; at += 16) {
      if (any_special(load<Bytes16>(at))) return true;
    }
    return any_special(load<Bytes16>(end - 16));
  }
  std::array<std::uint64_t, 2> both;
  if (text.size() >= 8)
    both = {load<std::uint64_t>(begin), load<std::uint64_t>(end - 8)};
  else if (text.size() >= 4)
    both.fill(std::uint64_t{load<std::uint32_t>(begin)} << 32 | load<std::uint32_t>(end - 4));
  else
    return std::any_of(begin, end, is_special);
  return any_special(std::bit_cast<Bytes16>(both));
}

std::size_t escaped_size(std::string_view text) noexcept {
  std::size_t size = text.size();
  for (const char byte : text) size += is_special(byte) ? 2 : 0;
  return size;
}

char* write_escaped(char* out, std::string_view text) noexcept {
  for (const char byte : text) {
    if (!is_special(byte)) {
      *out++ = byte;
      continue;
    }
    const auto value = static_cast<unsigned char>(byte);
    *out++ = '%';
    *out++ = kHex[value >> 4];
    *out++ = kHex[value & 15];
  }
  return out;
}

}  // namespace weir::limit
