// SPDX-License-Identifier: Apache-2.0
#include "http/date.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace weir::http {

std::string_view date_line(std::int64_t wall_ms) noexcept {
  // Names spelled out: strftime would follow the locale.
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  thread_local std::int64_t second = -1;
  thread_local std::array<char, 64> line{};
  thread_local std::size_t size = 0;
  const std::int64_t now = wall_ms / 1000;
  if (now != second) {
    second = now;
    const std::time_t time = static_cast<std::time_t>(now);
    std::tm utc{};
    ::gmtime_r(&time, &utc);
    const int written = std::snprintf(
        line.data(), line.size(), "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", kDays[utc.tm_wday],
        utc.tm_mday, kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
    size = static_cast<std::size_t>(written);
  }
  return {line.data(), size};
}

}  // namespace weir::http
