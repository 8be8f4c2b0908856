// SPDX-License-Identifier: Apache-2.0
// Eight octets as one word, for looking at them all at once. The first octet is the lowest. Pure.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weir {

static_assert(std::endian::native == std::endian::little, "the first of eight octets is the lowest");

inline constexpr std::uint64_t kEachOctet = 0x0101010101010101;

constexpr std::uint64_t eight_octets(const char* text) noexcept {
  if (std::is_constant_evaluated()) {
    return std::bit_cast<std::uint64_t>(
        std::array{text[0], text[1], text[2], text[3], text[4], text[5], text[6], text[7]});
  }
  std::uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  return word;
}

constexpr std::uint32_t four_octets(const char* text) noexcept {
  if (std::is_constant_evaluated()) {
    return std::bit_cast<std::uint32_t>(std::array{text[0], text[1], text[2], text[3]});
  }
  std::uint32_t word = 0;
  std::memcpy(&word, text, sizeof word);
  return word;
}

// A word that tells texts of one size from each other, of `size` octets, at most 7 (some stand in it twice).
constexpr std::uint64_t few_octets(const char* text, std::size_t size) noexcept {
  if (size >= 4) return four_octets(text) | std::uint64_t{four_octets(text + size - 4)} << 32;
  if (size == 0) return 0;
  const auto octet = [text](std::size_t n) { return std::uint64_t{static_cast<std::uint8_t>(text[n])}; };
  return octet(0) | octet(size / 2) << 8 | octet(size - 1) << 16;
}

// The top bit of each octet below `bound` (at most 0x80). Exact for the lowest one and where there is none;
// an octet above one that is below may be marked by mistake.
constexpr std::uint64_t octets_below(std::uint64_t word, std::uint8_t bound) noexcept {
  return (word - kEachOctet * bound) & ~word & kEachOctet * 0x80;
}
constexpr std::uint64_t octets_equal(std::uint64_t word, char octet) noexcept {
  return octets_below(word ^ (kEachOctet * static_cast<std::uint8_t>(octet)), 1);
}
// Which octet the lowest mark stands for: 0 to 7. `marks` is not 0.
constexpr std::size_t first_marked(std::uint64_t marks) noexcept {
  return static_cast<std::size_t>(std::countr_zero(marks)) / 8;
}

// The eight hexadecimal digits of a number, lower case, the highest first. Each half byte gets an octet of
// its own; those from ten on are told by the bit that adding six sets.
constexpr std::uint64_t hex_octets(std::uint32_t number) noexcept {
  std::uint64_t word = number;
  word = (word << 16 | word) & 0x0000ffff0000ffff;
  word = (word << 8 | word) & 0x00ff00ff00ff00ff;
  word = (word << 4 | word) & kEachOctet * 0x0f;
  const std::uint64_t letters = (word + kEachOctet * 6) >> 4 & kEachOctet;
  return __builtin_bswap64(word + kEachOctet * '0' + letters * ('a' - '0' - 10));
}

// ASCII lower case of each octet. With the top bit out of the way, adding sets it in each octet from
// 'A' on, and in each beyond 'Z'; where only the first holds (and the octet is ASCII) 0x20 is added.
constexpr std::uint64_t lower_octets(std::uint64_t word) noexcept {
  const std::uint64_t low = word & kEachOctet * 0x7f;
  const std::uint64_t from_a = low + kEachOctet * (0x80 - 'A');
  const std::uint64_t beyond_z = low + kEachOctet * (0x7f - 'Z');
  return word | ((from_a & ~beyond_z & ~word & kEachOctet * 0x80) >> 2);
}

// lower_octets(a) == lower_octets(b): they differ in nothing, or in 0x20 where that is an ASCII letter's
// case.
constexpr bool same_but_for_case(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t difference = a ^ b;
  if ((difference & ~(kEachOctet * 0x20)) != 0) return false;
  const std::uint64_t small = a | kEachOctet * 0x20;
  const std::uint64_t low = small & kEachOctet * 0x7f;
  const std::uint64_t from_a = low + kEachOctet * (0x80 - 'a');
  const std::uint64_t beyond_z = low + kEachOctet * (0x7f - 'z');
  const std::uint64_t letters = (from_a & ~beyond_z & ~small & kEachOctet * 0x80) >> 2;
  return (difference & ~letters) == 0;
}

}  // namespace weir
