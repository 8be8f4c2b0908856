// SPDX-License-Identifier: Apache-2.0
// The character classes of RFC 9110 and RFC 3986 that heads are made of. Pure, ASCII only, no locale.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::http {

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
constexpr bool is_alpha(char c) noexcept {
  return lower(c) >= 'a' && lower(c) <= 'z';
}
constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}

// The value of a hex digit, or -1.
constexpr int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// tchar of RFC 9110 5.6.2.
constexpr bool is_token_char(char c) noexcept {
  return is_digit(c) || is_alpha(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Which octets `is_member` holds for, so that asking costs one look.
constexpr std::array<bool, 256> table_of(bool (*is_member)(char) noexcept) noexcept {
  std::array<bool, 256> table{};
  for (int c = 0; c < 256; ++c) table[static_cast<std::size_t>(c)] = is_member(static_cast<char>(c));
  return table;
}
inline constexpr std::array<bool, 256> kTokenChars = table_of(is_token_char);

constexpr bool is_token_octet(char c) noexcept {
  return kTokenChars[static_cast<std::uint8_t>(c)];
}

constexpr bool is_token(std::string_view text) noexcept {
  for (const char c : text) {
    if (!is_token_octet(c)) return false;
  }
  return !text.empty();
}

// Without leading and trailing SP and HTAB.
constexpr std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the next member of a comma-separated list off `list`; empty members are skipped. False at the end.
constexpr bool next_member(std::string_view& list, std::string_view& member) noexcept {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    member = trim(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    if (!member.empty()) return true;
  }
  return false;
}

}  // namespace weir::http
