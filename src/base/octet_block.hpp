// SPDX-License-Identifier: Apache-2.0
// Sixteen octets at once, where the compiler has SSE2 for it (every x86-64). Whoever searches a text has a
// loop without it too, for other processors and for a text's last octets; who only asks whether a text has
// any octet of a kind has any_octet(). Pure.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/base/octets.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace weir {

#ifdef __SSE2__
// A set of the block's octets: bit n stands for octet n.
using OctetMarks = std::uint32_t;

class OctetBlock {
 public:
  static constexpr std::size_t kSize = 16;
  static constexpr OctetMarks kAll = 0xffff;

  explicit OctetBlock(const char* text) noexcept
      : octets_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text))) {}

  // Two words of eight octets each, the first octet the lowest.
  OctetBlock(std::uint64_t first, std::uint64_t second) noexcept
      : octets_(_mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first))) {}

  // Control characters of ASCII (RFC 5234 CTL).
  OctetMarks controls() const noexcept {
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(octets_, _mm_set1_epi8(0x1f)), octets_);
    return marks(_mm_or_si128(low, equals(0x7f)));
  }
  // Octets that a JSON string cannot hold as they are, and all that are not ASCII.
  OctetMarks escaped_in_json() const noexcept {
    // As signed numbers, control characters and what is not ASCII are below 0x20.
    const __m128i outside = _mm_or_si128(_mm_cmplt_epi8(octets_, _mm_set1_epi8(0x20)), equals(0x7f));
    return marks(_mm_or_si128(outside, _mm_or_si128(equals('"'), equals('\\'))));
  }
  // Octets that a counter key cannot hold as they are: : { } % # and control characters.
  OctetMarks escaped_in_keys() const noexcept {
    const __m128i braces = _mm_or_si128(equals('{'), equals('}'));
    const __m128i signs = _mm_or_si128(equals('%'), equals('#'));
    return controls() | marks(_mm_or_si128(_mm_or_si128(braces, signs), equals(':')));
  }
  OctetMarks letters_and_hyphens() const noexcept {
    const __m128i small = _mm_or_si128(octets_, _mm_set1_epi8(0x20));
    const __m128i letters = _mm_and_si128(_mm_cmpgt_epi8(small, _mm_set1_epi8('a' - 1)),
                                          _mm_cmplt_epi8(small, _mm_set1_epi8('z' + 1)));
    return marks(_mm_or_si128(letters, equals('-')));
  }

 private:
  static OctetMarks marks(__m128i octets) noexcept {
    return static_cast<OctetMarks>(_mm_movemask_epi8(octets));
  }
  __m128i equals(char octet) const noexcept { return _mm_cmpeq_epi8(octets_, _mm_set1_epi8(octet)); }

  __m128i octets_;
};
#endif

// Whether a text has an octet of some kind. `of_block` tells of an OctetBlock's marks whether there is one,
// `of_word` of eight octets; a space is of none. The last octets are looked at in words that overlap: most
// texts are short, and are asked for with one or two looks.
template <typename OfBlock, typename OfWord>
bool any_octet(std::string_view text, [[maybe_unused]] const OfBlock& of_block,
               const OfWord& of_word) noexcept {
  constexpr std::uint64_t kSpaces = kEachOctet * 0x20;
  const char* at = text.data();
  const std::size_t size = text.size();
  if (size < 8) {
    const std::uint64_t filling = size < 4 ? kSpaces << 24 : 0;
    return size > 0 && of_word(few_octets(at, size) | filling);
  }
  const char* const end = at + size;
#ifdef __SSE2__
  for (; end - at > 16; at += OctetBlock::kSize) {
    if (of_block(OctetBlock(at))) return true;
  }
  return of_block(OctetBlock(eight_octets(end - at < 8 ? end - 8 : at), eight_octets(end - 8)));
#else
  for (; end - at > 8; at += 8) {
    if (of_word(eight_octets(at))) return true;
  }
  return of_word(eight_octets(end - 8));
#endif
}

}  // namespace weir
