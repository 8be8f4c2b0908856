// SPDX-License-Identifier: Apache-2.0
// Appending several texts and numbers to a reused string at once: the string grows once for all of them.
// Pure.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::size_t kMostDigits = 20;  // of a 64-bit number in base 10, with its sign

// A whole number's digits, in base 10 or 16 (lower case).
template <int kBase = 10>
  requires(kBase == 10 || kBase == 16)
class Digits {
 public:
  template <std::integral Number>
  explicit Digits(Number number) noexcept {
    const char* const end = std::to_chars(digits_, digits_ + kMostDigits, number, kBase).ptr;
    size_ = static_cast<std::size_t>(end - digits_);
  }
  operator std::string_view() const noexcept { return {digits_, size_}; }

 private:
  char digits_[kMostDigits];
  std::size_t size_;
};

namespace append_detail {
// most(): the octets a part may need. write(): puts it there, and returns its end.
// A literal's size is known, and its copy a few moves.
template <std::size_t kSize>
constexpr std::size_t most(const char (&)[kSize]) noexcept {
  return kSize - 1;
}
inline std::size_t most(std::string_view text) noexcept {
  return text.size();
}
template <std::integral Number>
  requires(!std::same_as<Number, char> && !std::same_as<Number, bool>)
constexpr std::size_t most(Number) noexcept {
  return kMostDigits;
}

template <std::size_t kSize>
char* write(char* to, const char (&literal)[kSize]) noexcept {
  return std::char_traits<char>::copy(to, literal, kSize - 1) + (kSize - 1);
}
inline char* write(char* to, std::string_view text) noexcept {
  return std::char_traits<char>::copy(to, text.data(), text.size()) + text.size();  // may have no address
}
template <std::integral Number>
char* write(char* to, Number number) noexcept {
  return std::to_chars(to, to + kMostDigits, number).ptr;
}
}  // namespace append_detail

// Appends texts, and integers in decimal. No text may be of `out` itself.
template <class... Parts>
void append(std::string& out, const Parts&... parts) {
  const std::size_t before = out.size();
  out.resize(before + (append_detail::most(parts) + ... + 0));
  char* to = out.data() + before;
  ((to = append_detail::write(to, parts)), ...);
  out.resize(static_cast<std::size_t>(to - out.data()));
}

}  // namespace weir
