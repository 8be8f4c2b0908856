// SPDX-License-Identifier: Apache-2.0
#include <date/date.h>

#include <sstream>

#include "config/scalars.hpp"

namespace weir::config {

namespace {

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
    if (const std::optional<std::int64_t> ms = read_with(format, text)) return ms;
  }
  why = "is not a point in time; write one such as 2026-12-01T00:00:00Z or 2026-12-01T00:00:00+01:00";
  return std::nullopt;
}

}  // namespace weir::config
