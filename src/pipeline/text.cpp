// SPDX-License-Identifier: Apache-2.0
#include "pipeline/text.hpp"

#include <algorithm>

namespace weir::pipeline {

namespace {

bool stands_for_itself(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte != 0x7f && c != '"' && c != '\\';
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  while (!text.empty()) {
    const auto odd = std::find_if_not(text.begin(), text.end(), stands_for_itself);
    const auto plain = static_cast<std::size_t>(odd - text.begin());
    out += text.substr(0, plain);
    if (plain == text.size()) return;
    const char c = text[plain];
    text.remove_prefix(plain + 1);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[c & 15];
    }
  }
}

}  // namespace weir::pipeline
