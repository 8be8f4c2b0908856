// SPDX-License-Identifier: Apache-2.0
// Writing the chunked coding (RFC 9112 7.1). Pure.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/append.hpp"

namespace weir::http {

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// The end of a body, with complete trailer lines.
inline void append_last_chunk(std::string& out, std::string_view trailers) {
  append(out, "0\r\n", trailers, "\r\n");
}

// One chunk. Nothing for empty bytes: an empty chunk would be the end of the body.
inline void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;
  append(out, Digits<16>(bytes.size()), "\r\n", bytes, "\r\n");
}

}  // namespace weir::http
