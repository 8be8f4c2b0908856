// SPDX-License-Identifier: Apache-2.0
// Builds one JSON object per line into a buffer that is reused: no allocation once the buffer has grown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weir/telemetry/records.hpp"

namespace weir::telemetry {

// Appends `text` as the inside of a JSON string. Quotes, backslashes and control characters are escaped,
// octets that are no UTF-8 become U+FFFD, so that nothing a client sends can end the string, the line, or the
// parser.
void append_json_text(std::string& out, std::string_view text);

// Longer texts are cut, on a character's edge, and end with an ellipsis: log lines stay bounded whatever the
// request looked like.
inline constexpr std::size_t kMaxLoggedText = 2048;

class JsonLine {
 public:
  // Appends to `out`, which must outlive this.
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }

  static constexpr std::size_t kMaxName = 64;
  // Names are literals of ours, of at most kMaxName octets: they are not escaped.
  JsonLine& text(std::string_view name, std::string_view value);
  JsonLine& number(std::string_view name, std::int64_t value);
  // Microseconds as milliseconds with three decimals.
  JsonLine& milliseconds(std::string_view name, std::int64_t microseconds);
  JsonLine& flag(std::string_view name, bool value);
  // Wall time as RFC 3339 in UTC with milliseconds.
  JsonLine& time(std::string_view name, std::int64_t wall_ms);
  JsonLine& texts(std::string_view name, std::span<const std::string_view> values);
  // An object of texts; their names are escaped.
  JsonLine& members(std::string_view name, std::span<const NamedValue> values);

  // Ends the object and the line.
  void end() { out_ += "}\n"; }

 private:
  class Piece;

  std::string& out_;
  bool first_ = true;
};

void append_number(std::string& out, std::int64_t value);

// "2026-11-30T12:34:56.789Z". Formats the date once per second and thread.
void append_time(std::string& out, std::int64_t wall_ms);

}  // namespace weir::telemetry
