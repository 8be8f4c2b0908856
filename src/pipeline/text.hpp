// SPDX-License-Identifier: Apache-2.0
// Appending JSON text to a reused string, by the rules of the log lines
// (telemetry/json_line.hpp): octets that are no UTF-8 cannot break a body either.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "telemetry/json_line.hpp"
#include "weir/base/append.hpp"

namespace weir::pipeline {

// The inside of a JSON string. Adds no quotes.
inline void append_json_escaped(std::string& out, std::string_view text) {
  telemetry::append_json_text(out, text);
}

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
