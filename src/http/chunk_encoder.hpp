// SPDX-License-Identifier: Apache-2.0
// Writing the chunked coding (RFC 9112 7.1). Pure.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace weir::http {

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// The end of a body, with complete trailer lines.
inline void append_last_chunk(std::string& out, std::string_view trailers) {
  out += "0\r\n";
  out += trailers;
  out += "\r\n";
}

// `number` in the given base, lower case.
inline void append_number(std::string& out, std::uint64_t number, int base = 10) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

// One chunk. Nothing for empty bytes: an empty chunk would be the end of the body.
inline void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;
  append_number(out, bytes.size(), 16);
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

}  // namespace weir::http
