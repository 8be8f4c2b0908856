// SPDX-License-Identifier: Apache-2.0
// A field's name as it is compared: in any case, by a hash that is made once. A request's names are compared
// some hundred times on its way; nearly all differ, which the hash tells without a look at the text. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/octets.hpp"

namespace weir::http {

// Requires two texts of `size` octets each.
constexpr bool folded_equal(const char* a, const char* b, std::size_t size) noexcept {
  if (size < 8) return same_but_for_case(few_octets(a, size), few_octets(b, size));
  // Eight octets at a time; a text's last ones overlap those before them.
  for (std::size_t n = 0; n + 8 < size; n += 8) {
    if (!same_but_for_case(eight_octets(a + n), eight_octets(b + n))) return false;
  }
  return same_but_for_case(eight_octets(a + size - 8), eight_octets(b + size - 8));
}

// ASCII case-insensitive equality. (Beast 1.81's iequals reads past the end.)
constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && folded_equal(a.data(), b.data(), a.size());
}

// Equal for texts that iequals() finds equal, since the bit of a letter's case does not count. Whoever sends
// a name can make it collide: compare the texts too.
constexpr std::uint32_t folded_hash(std::string_view text) noexcept {
  constexpr std::uint64_t kCase = kEachOctet * 0x20;
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  std::uint64_t hash = text.size() * kMix;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) {
    hash = (hash ^ (eight_octets(at) | kCase)) * kMix;
    hash ^= hash >> 32;
  }
  if (left > 0) hash = (hash ^ (few_octets(at, left) | kCase)) * kMix;
  return static_cast<std::uint32_t>(hash >> 32);
}

// Refers to the text it was made from.
class FieldName {
 public:
  // A literal's hash is a constant of the program.
  template <std::size_t kSize>
  consteval FieldName(const char (&literal)[kSize]) noexcept
      : FieldName(std::string_view(literal, kSize - 1)) {}
  constexpr FieldName(std::string_view text) noexcept : FieldName(text, folded_hash(text)) {}
  FieldName(const std::string& text) noexcept : FieldName(std::string_view(text)) {}
  // `hash` is folded_hash(text).
  constexpr FieldName(std::string_view text, std::uint32_t hash) noexcept : text_(text), hash_(hash) {}

  constexpr std::string_view text() const noexcept { return text_; }
  constexpr std::uint32_t hash() const noexcept { return hash_; }

  // Inlined everywhere: nearly all comparisons end with the first.
  [[gnu::always_inline]] friend constexpr bool operator==(const FieldName& a, const FieldName& b) noexcept {
    return a.hash_ == b.hash_ && iequals(a.text_, b.text_);
  }

 private:
  std::string_view text_;
  std::uint32_t hash_;
};

}  // namespace weir::http
