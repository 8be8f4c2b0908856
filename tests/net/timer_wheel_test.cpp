// SPDX-License-Identifier: Apache-2.0
#include "net/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace weir::net {
namespace {

struct Alarm {
  explicit Alarm(TimerWheel& wheel)
      : timer(wheel, [](void* self) { ++static_cast<Alarm*>(self)->rings; }, this) {}
  int rings = 0;
  Timer timer;
};

TEST(TimerWheel, RingsOnceAfterTheDeadlineAndNeverBefore) {
  TimerWheel wheel(1000);
  Alarm alarm(wheel);
  alarm.timer.arm(1500);
  for (std::int64_t now = 1000; now < 1500; now += 10) {
    wheel.advance(now);
    ASSERT_EQ(alarm.rings, 0) << "at " << now;
  }
  wheel.advance(1500 + 2 * TimerWheel::kTickMs);
  EXPECT_EQ(alarm.rings, 1);
  wheel.advance(100000);
  EXPECT_EQ(alarm.rings, 1);
}

TEST(TimerWheel, ALaterDeadlineReplacesAnEarlierOne) {
  TimerWheel wheel(0);
  Alarm alarm(wheel);
  alarm.timer.arm(100);
  alarm.timer.arm(900);
  wheel.advance(800);
  EXPECT_EQ(alarm.rings, 0);
  wheel.advance(1000);
  EXPECT_EQ(alarm.rings, 1);
}

TEST(TimerWheel, AnEarlierDeadlineReplacesALaterOne) {
  TimerWheel wheel(0);
  Alarm alarm(wheel);
  alarm.timer.arm(60000);
  alarm.timer.arm(200);
  wheel.advance(300);
  EXPECT_EQ(alarm.rings, 1);
}

TEST(TimerWheel, RestAndDisarmSilence) {
  TimerWheel wheel(0);
  Alarm resting(wheel);
  Alarm disarmed(wheel);
  resting.timer.arm(100);
  disarmed.timer.arm(100);
  resting.timer.rest();
  disarmed.timer.disarm();
  EXPECT_EQ(wheel.filed(), 1u);
  wheel.advance(1000);
  EXPECT_EQ(resting.rings + disarmed.rings, 0);
  EXPECT_EQ(wheel.filed(), 0u);
}

TEST(TimerWheel, DeadlinesBeyondOneTurnAreKept) {
  TimerWheel wheel(0);
  Alarm alarm(wheel);
  const std::int64_t deadline = 3 * TimerWheel::kTickMs * static_cast<std::int64_t>(TimerWheel::kSlots);
  alarm.timer.arm(deadline);
  for (std::int64_t now = 0; now < deadline; now += 1000) wheel.advance(now);
  EXPECT_EQ(alarm.rings, 0);
  wheel.advance(deadline + 2 * TimerWheel::kTickMs);
  EXPECT_EQ(alarm.rings, 1);
}

TEST(TimerWheel, OneLongSleepFiresEverythingThatIsDue) {
  TimerWheel wheel(0);
  std::vector<std::unique_ptr<Alarm>> alarms;
  for (int n = 0; n < 100; ++n) {
    alarms.push_back(std::make_unique<Alarm>(wheel));
    alarms.back()->timer.arm(1 + n * 700);
  }
  wheel.advance(10000000);
  for (const auto& alarm : alarms) EXPECT_EQ(alarm->rings, 1);
}

TEST(TimerWheel, ATimerMayDestroyOthersOfItsSlot) {
  TimerWheel wheel(0);
  struct Killer {
    std::vector<std::unique_ptr<Alarm>> victims;
  } killer;
  for (int n = 0; n < 4; ++n) killer.victims.push_back(std::make_unique<Alarm>(wheel));
  Timer timer(wheel, [](void* self) { static_cast<Killer*>(self)->victims.clear(); }, &killer);
  killer.victims[0]->timer.arm(120);
  killer.victims[1]->timer.arm(120);
  timer.arm(120);
  killer.victims[2]->timer.arm(120);
  killer.victims[3]->timer.arm(120);
  wheel.advance(1000);
  EXPECT_TRUE(killer.victims.empty());
  EXPECT_EQ(wheel.filed(), 0u);
}

TEST(TimerWheel, RandomDeadlinesFireWithinTwoTicks) {
  std::mt19937 random(7);
  TimerWheel wheel(0);
  std::int64_t now = 0;
  struct Checked {
    Checked(TimerWheel& wheel, std::int64_t& clock_)
        : clock(clock_), timer(wheel, [](void* self) { static_cast<Checked*>(self)->ring(); }, this) {}
    void ring() { rang_at = clock; }
    std::int64_t& clock;
    std::int64_t due = 0;
    std::int64_t rang_at = -1;
    Timer timer;
  };
  std::vector<std::unique_ptr<Checked>> timers;
  for (int n = 0; n < 300; ++n) {
    timers.push_back(std::make_unique<Checked>(wheel, now));
    for (int again = 0; again < 3; ++again) {
      timers.back()->due = 1 + static_cast<std::int64_t>(random() % 200000);
      timers.back()->timer.arm(timers.back()->due);
    }
  }
  for (; now < 201000; now += 25) wheel.advance(now);
  for (const auto& timer : timers) {
    EXPECT_GE(timer->rang_at, timer->due);
    EXPECT_LE(timer->rang_at, timer->due + 2 * TimerWheel::kTickMs);
  }
}

}  // namespace
}  // namespace weir::net
