// SPDX-License-Identifier: Apache-2.0
#include "http/send_pace.hpp"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

constexpr std::int64_t kIdle = 30000, kWindow = 30000;

SendPace blocked_at(std::int64_t now_ms, std::int64_t idle_ms, std::uint64_t least,
                    std::uint64_t acknowledged = 0) {
  SendPace pace;
  pace.begin(idle_ms, least, kWindow);
  EXPECT_TRUE(pace.wants_start());
  pace.start(acknowledged);
  EXPECT_FALSE(pace.wants_start());
  pace.wrote(now_ms);
  return pace;
}

// Waits until the deadline comes or `ms` have passed, with `rate` bytes a second acknowledged. Returns when
// it was found too slow, or -1.
std::int64_t cut_after(SendPace pace, std::uint64_t rate, std::int64_t ms) {
  std::uint64_t acknowledged = 0;
  for (std::int64_t now = 0; now < ms;) {
    const std::int64_t until = pace.deadline_ms(now);
    if (until == 0) return -1;
    EXPECT_GT(until, now);
    acknowledged += rate * static_cast<std::uint64_t>(until - now) / 1000;
    pace.waited(until - now);
    now = until;
    EXPECT_TRUE(pace.may_judge(now));
    if (pace.too_slow(now, acknowledged)) return now;
  }
  return -1;
}

TEST(SendPace, WhoTakesNothingIsCutAfterTheIdleTime) {
  EXPECT_EQ(cut_after(blocked_at(0, 2000, 0), 0, 60000), 2000);
  EXPECT_EQ(cut_after(blocked_at(0, 2000, 100), 0, 60000), 2000);
  EXPECT_EQ(cut_after(blocked_at(0, kIdle, 100), 0, 600000), kIdle);
}

TEST(SendPace, WhoTakesTooLittleIsCutAfterTheWindow) {
  EXPECT_EQ(cut_after(blocked_at(0, kIdle, 100), 10, 600000), kWindow);
  EXPECT_EQ(cut_after(blocked_at(0, 0, 100), 99, 600000), kWindow);
  EXPECT_EQ(cut_after(blocked_at(0, kIdle, 100), 100, 600000), -1);
  EXPECT_EQ(cut_after(blocked_at(0, kIdle, 100), 10000, 600000), -1);
}

// The kernel says nothing of room for minutes, but bytes are acknowledged: a slow line, not a stop.
TEST(SendPace, ProgressIsWhatIsAcknowledged) {
  EXPECT_EQ(cut_after(blocked_at(0, 2000, 0), 1, 600000), -1);
}

TEST(SendPace, WithoutLimitsThereIsNoDeadline) {
  SendPace pace = blocked_at(5, 0, 0);
  EXPECT_EQ(pace.deadline_ms(5), 0);
  pace.waited(1000000);
  EXPECT_FALSE(pace.may_judge(1000005));
}

TEST(SendPace, OnlyTimeSpentWaitingCounts) {
  SendPace pace = blocked_at(0, 0, 100, 5000);
  pace.waited(20000);
  pace.wrote(900000);  // the upstream was slow in between
  EXPECT_EQ(pace.deadline_ms(900000), 910000);
  pace.waited(9999);
  EXPECT_FALSE(pace.may_judge(909999));
  pace.waited(1);
  EXPECT_TRUE(pace.may_judge(910000));
  EXPECT_FALSE(pace.too_slow(910000, 8000));  // 3000 of 3000
  pace.waited(kWindow);
  EXPECT_TRUE(pace.too_slow(940000, 10999));  // a window of its own
}

}  // namespace
}  // namespace weir::http
