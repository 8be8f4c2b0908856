// SPDX-License-Identifier: Apache-2.0
#include <date/date.h>

#include <algorithm>
#include <sstream>

#include "config/scalars.hpp"

namespace weir::config {

namespace {

bool looks_like(std::string_view text, std::string_view shape) {
  if (text.size() != shape.size()) return false;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const bool digit = text[n] >= '0' && text[n] <= '9';
    if (shape[n] == '0' ? !digit : text[n] != shape[n]) return false;
  }
  return true;
}

// date::parse computes with seconds that it did not find: it is given nothing but what has them.
bool has_shape(std::string_view text) {
  constexpr std::string_view kToSeconds = "0000-00-00T00:00:00";
  if (!looks_like(text.substr(0, kToSeconds.size()), kToSeconds)) return false;
  std::string_view rest = text.substr(kToSeconds.size());
  if (rest.starts_with('.'))
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  return rest == "Z" || looks_like(rest, "+00:00") || looks_like(rest, "-00:00");
}

std::optional<std::int64_t> read_with(const char* format, std::string_view text) {
  std::istringstream stream{std::string(text)};
  date::sys_time<std::chrono::milliseconds> time;
  stream >> date::parse(format, time);
  if (stream.fail() || stream.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return time.time_since_epoch().count();
}

}  // namespace

std::optional<std::int64_t> parse_timestamp(std::string_view text, std::string& why) {
  for (const char* const format : {"%FT%TZ", "%FT%T%Ez"}) {
    if (!has_shape(text)) break;
    if (const std::optional<std::int64_t> ms = read_with(format, text)) return ms;
  }
  why = "is not a point in time; write one such as 2026-12-01T00:00:00Z or 2026-12-01T00:00:00+01:00";
  return std::nullopt;
}

}  // namespace weir::config
