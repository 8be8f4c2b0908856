// SPDX-License-Identifier: Apache-2.0
#include "weir/limit/calendar.hpp"

#include <date/date.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace weir::limit {
namespace {

using testing::ElementsAre;

std::int64_t utc(const std::string& text) {
  std::istringstream in(text);
  date::sys_time<std::chrono::milliseconds> time;
  in >> date::parse("%F %T", time);
  EXPECT_FALSE(in.fail()) << text;
  return time.time_since_epoch().count();
}

auto bounds(CalendarUnit unit, const char* zone, const std::string& now) {
  return calendar_bounds(unit, zone, utc(now)).at;
}

TEST(Calendar, days_begin_at_local_midnight) {
  EXPECT_THAT(bounds(CalendarUnit::day, "Asia/Shanghai", "2026-11-30 15:59:59"),
              ElementsAre(utc("2026-11-28 16:00:00"), utc("2026-11-29 16:00:00"), utc("2026-11-30 16:00:00"),
                          utc("2026-12-01 16:00:00")));
  EXPECT_EQ(bounds(CalendarUnit::day, "Asia/Shanghai", "2026-11-30 16:00:00")[1], utc("2026-11-30 16:00:00"));
}

TEST(Calendar, days_of_daylight_saving_are_an_hour_off) {
  const auto spring = bounds(CalendarUnit::day, "Europe/Berlin", "2026-03-29 12:00:00");
  EXPECT_EQ(spring[2] - spring[1], 23 * 3'600'000);
  const auto autumn = bounds(CalendarUnit::day, "Europe/Berlin", "2026-10-25 12:00:00");
  EXPECT_EQ(autumn[2] - autumn[1], 25 * 3'600'000);
}

// Santiago turns its clocks forward at midnight: that day has no 00:00.
TEST(Calendar, a_day_without_midnight_begins_at_its_first_moment) {
  EXPECT_EQ(bounds(CalendarUnit::day, "America/Santiago", "2026-09-06 12:00:00")[1],
            utc("2026-09-06 04:00:00"));
}

TEST(Calendar, months_have_their_own_lengths) {
  EXPECT_THAT(bounds(CalendarUnit::month, "UTC", "2028-01-31 23:59:59"),
              ElementsAre(utc("2027-12-01 00:00:00"), utc("2028-01-01 00:00:00"), utc("2028-02-01 00:00:00"),
                          utc("2028-03-01 00:00:00")));
}

TEST(Calendar, what_is_kept_is_renewed_when_its_window_is_over) {
  EXPECT_EQ(bounds(CalendarUnit::day, "UTC", "2026-11-30 10:00:00")[1], utc("2026-11-30 00:00:00"));
  EXPECT_EQ(bounds(CalendarUnit::day, "UTC", "2026-12-01 00:00:00")[1], utc("2026-12-01 00:00:00"));
  EXPECT_EQ(bounds(CalendarUnit::day, "UTC", "2026-11-30 23:00:00")[1], utc("2026-11-30 00:00:00"));
  EXPECT_EQ(bounds(CalendarUnit::month, "UTC", "2026-11-30 23:00:00")[1], utc("2026-11-01 00:00:00"));
}

TEST(Calendar, knows_zones_and_counts_unknown_ones_as_utc) {
  EXPECT_TRUE(known_time_zone("America/New_York"));
  EXPECT_TRUE(known_time_zone("UTC"));
  EXPECT_FALSE(known_time_zone("Mars/Olympus"));
  EXPECT_EQ(bounds(CalendarUnit::day, "Mars/Olympus", "2026-11-30 10:00:00")[1], utc("2026-11-30 00:00:00"));
}

}  // namespace
}  // namespace weir::limit
