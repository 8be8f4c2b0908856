// SPDX-License-Identifier: Apache-2.0
// Appending several texts and numbers to a reused string at once: the string grows once for all of them.
// Pure.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir {

// A whole number's digits, in base 10 or another (2 to 36, lower case).
template <int kBase = 10>
class Digits {
 public:
  template <std::integral Number>
  explicit Digits(Number number) noexcept {
    char* const end = std::to_chars(digits_, digits_ + sizeof digits_, number, kBase).ptr;
    size_ = static_cast<std::size_t>(end - digits_);
  }
  operator std::string_view() const noexcept { return {digits_, size_}; }

 private:
  char digits_[kBase < 10 ? 65 : 20];
  std::size_t size_;
};

namespace append_detail {
// A literal's size is known, and its copy a few moves.
template <std::size_t kSize>
std::string_view part(const char (&literal)[kSize]) noexcept {
  return {literal, kSize - 1};
}
inline std::string_view part(std::string_view text) noexcept {
  return text;
}
template <std::integral Number>
  requires(!std::same_as<Number, char> && !std::same_as<Number, bool>)
Digits<> part(Number number) noexcept {
  return Digits<>(number);
}

template <std::same_as<std::string_view>... Texts>
void append_texts(std::string& out, Texts... texts) {
  const std::size_t before = out.size();
  out.resize(before + (texts.size() + ... + 0));
  char* to = out.data() + before;
  const auto put = [&to](std::string_view text) {
    std::char_traits<char>::copy(to, text.data(), text.size());  // an empty text may have no address
    to += text.size();
  };
  (put(texts), ...);
}
}  // namespace append_detail

// Appends texts, and integers in decimal.
template <class... Parts>
void append(std::string& out, const Parts&... parts) {
  append_detail::append_texts(out, std::string_view(append_detail::part(parts))...);
}

}  // namespace weir
