// SPDX-License-Identifier: Apache-2.0
// Percent escapes (RFC 3986 2.1), for paths and query parameters.
#pragma once

#include <string>
#include <string_view>

namespace weir::identity {

constexpr bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

// The octet of the escape that `text` starts with ("%41..."), or -1 if it is malformed.
constexpr int decode_escape(std::string_view text) noexcept {
  constexpr auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  if (text.size() < 3 || text[0] != '%') return -1;
  const int high = digit(text[1]);
  const int low = digit(text[2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

inline void append_escape(std::string& out, unsigned char octet) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  out += '%';
  out += digits[octet >> 4];
  out += digits[octet & 15];
}

}  // namespace weir::identity
