// SPDX-License-Identifier: Apache-2.0
#include "weir/limit/calendar.hpp"

#include <date/tz.h>

#include <chrono>
#include <exception>
#include <string>
#include <vector>

namespace weir::limit {
namespace {

using std::chrono::milliseconds;

const date::time_zone* find_zone(std::string_view name) noexcept {
  try {
    return date::locate_zone(std::string(name));
  } catch (const std::exception&) {
    return nullptr;
  }
}

std::int64_t start_of(const date::time_zone* zone, date::local_days day) {
  const date::sys_time<milliseconds> start =
      zone == nullptr ? date::sys_time<milliseconds>(day.time_since_epoch())
                      : zone->to_sys(date::local_time<milliseconds>(day), date::choose::earliest);
  return start.time_since_epoch().count();
}

CalendarBounds compute(CalendarUnit unit, std::string_view name, std::int64_t wall_ms) {
  const date::time_zone* zone = find_zone(name);
  const date::sys_time<milliseconds> now{milliseconds(wall_ms)};
  const date::local_time<milliseconds> local =
      zone == nullptr ? date::local_time<milliseconds>(now.time_since_epoch()) : zone->to_local(now);
  const date::local_days today = date::floor<date::days>(local);
  const date::year_month_day parts{today};
  CalendarBounds bounds;
  for (int i = 0; i < 4; ++i) {
    date::local_days day = today + date::days(i - 1);
    if (unit == CalendarUnit::month)
      day = date::local_days((parts.year() / parts.month() / 1) + date::months(i - 1));
    bounds.at[static_cast<std::size_t>(i)] = start_of(zone, day);
  }
  return bounds;
}

struct Known {
  CalendarUnit unit;
  std::string zone;
  CalendarBounds bounds;
};

bool holds(const CalendarBounds& bounds, std::int64_t wall_ms) {
  return bounds.at[1] <= wall_ms && wall_ms < bounds.at[2];
}

}  // namespace

bool known_time_zone(std::string_view name) noexcept {
  return find_zone(name) != nullptr;
}

CalendarBounds calendar_bounds(CalendarUnit unit, std::string_view zone, std::int64_t wall_ms) noexcept {
  thread_local std::vector<Known> known;
  for (Known& each : known) {
    if (each.unit != unit || each.zone != zone) continue;
    if (!holds(each.bounds, wall_ms)) each.bounds = compute(unit, zone, wall_ms);
    return each.bounds;
  }
  known.push_back({unit, std::string(zone), compute(unit, zone, wall_ms)});
  return known.back().bounds;
}

}  // namespace weir::limit
