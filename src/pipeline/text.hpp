// SPDX-License-Identifier: Apache-2.0
// Appending numbers and JSON text to a reused string, without allocation once its capacity has grown.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::pipeline {

inline void append_number(std::string& out, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

// The text with JSON's escapes; control characters as \u00XX. Adds no quotes.
void append_json_escaped(std::string& out, std::string_view text);

// "text" with quotes.
inline void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

// Milliseconds to whole seconds, rounded up.
constexpr std::int64_t ceil_seconds(std::int64_t ms) {
  return ms <= 0 ? 0 : (ms + 999) / 1000;
}

}  // namespace weir::pipeline
