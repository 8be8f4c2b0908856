// SPDX-License-Identifier: Apache-2.0
// Appends RESP requests to a string: no allocation beyond the string's own growth.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weir::redis {

inline void append_number(std::string& out, std::int64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end.ptr);
}

// "*count\r\n": `count` bulks must follow.
inline void append_array(std::string& out, std::size_t count) {
  out.push_back('*');
  append_number(out, static_cast<std::int64_t>(count));
  out.append("\r\n");
}

inline void append_bulk(std::string& out, std::string_view text) {
  out.push_back('$');
  append_number(out, static_cast<std::int64_t>(text.size()));
  out.append("\r\n").append(text).append("\r\n");
}

inline void append_bulk(std::string& out, std::int64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  append_bulk(out, std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_array(out, words.size());
  for (const std::string_view word : words) append_bulk(out, word);
}

}  // namespace weir::redis
