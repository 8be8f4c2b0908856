// SPDX-License-Identifier: Apache-2.0
// Appends RESP requests to a string: no allocation beyond the string's own growth.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "weir/base/append.hpp"

namespace weir::redis {

// "*count\r\n": `count` bulks must follow.
inline void append_array(std::string& out, std::size_t count) {
  append(out, "*", count, "\r\n");
}

inline void append_bulk(std::string& out, std::string_view text) {
  append(out, "$", text.size(), "\r\n", text, "\r\n");
}

inline void append_bulk(std::string& out, std::int64_t value) {
  append_bulk(out, std::string_view(Digits<>(value)));
}

inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_array(out, words.size());
  for (const std::string_view word : words) append_bulk(out, word);
}

}  // namespace weir::redis
