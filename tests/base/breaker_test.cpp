// SPDX-License-Identifier: Apache-2.0
#include "base/breaker.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

using Pass = Breaker::Pass;
using State = Breaker::State;

constexpr std::int64_t kStart = 5'000'000;

void fail(Breaker& breaker, int times, std::int64_t now_ms) {
  for (int n = 0; n < times; ++n) breaker.failed(breaker.admit(now_ms), now_ms);
}

// The first moment from `from` at which a call passes.
std::int64_t next_pass(const Breaker& breaker, std::int64_t from) {
  while (breaker.refuses(from)) ++from;
  return from;
}

TEST(Breaker, ThreeFailuresInARowOpen) {
  Breaker breaker({}, 1);
  fail(breaker, 2, kStart);
  breaker.succeeded(breaker.admit(kStart), kStart);
  fail(breaker, 2, kStart);
  EXPECT_EQ(breaker.state(), State::closed);
  fail(breaker, 1, kStart);
  EXPECT_EQ(breaker.state(), State::open);
  EXPECT_EQ(breaker.admit(kStart + 1), Pass::refused);
}

TEST(Breaker, HalfOfTwentyCallsInOneWindowOpen) {
  Breaker breaker({}, 1);
  for (int n = 0; n < 9; ++n) {
    fail(breaker, 1, kStart);
    breaker.succeeded(breaker.admit(kStart), kStart);
  }
  breaker.succeeded(breaker.admit(kStart), kStart);
  EXPECT_EQ(breaker.state(), State::closed);
  fail(breaker, 1, kStart);
  EXPECT_EQ(breaker.state(), State::open) << "10 of 20";
}

TEST(Breaker, FailuresOfAnEarlierWindowDoNotCount) {
  Breaker breaker({}, 1);
  std::int64_t now = kStart;
  for (int n = 0; n < 200; ++n, now += 120) {
    fail(breaker, 1, now);
    breaker.succeeded(breaker.admit(now), now);
  }
  EXPECT_EQ(breaker.state(), State::closed)
      << "18 calls a window: too few to judge, though half of them failed";
}

TEST(Breaker, OneProbeAtATimeAndItsSuccessCloses) {
  Breaker breaker({}, 1);
  fail(breaker, 3, kStart);
  const std::int64_t later = next_pass(breaker, kStart);
  EXPECT_GE(later, kStart + 25);
  EXPECT_LE(later, kStart + 50);
  EXPECT_EQ(breaker.admit(later), Pass::probe);
  EXPECT_EQ(breaker.state(), State::half_open);
  EXPECT_EQ(breaker.admit(later), Pass::refused);
  breaker.succeeded(Pass::probe, later + 3);
  EXPECT_EQ(breaker.admit(later + 3), Pass::call);
}

TEST(Breaker, PausesDoubleUpToTheLongest) {
  Breaker breaker({}, 7);
  fail(breaker, 3, kStart);
  std::int64_t now = kStart;
  std::int64_t longest = 50;
  for (int n = 0; n < 12; ++n) {
    const std::int64_t pass = next_pass(breaker, now);
    EXPECT_GT(pass - now, longest / 2 - 1) << n;
    EXPECT_LE(pass - now, longest) << n;
    ASSERT_EQ(breaker.admit(pass), Pass::probe);
    breaker.failed(Pass::probe, pass);
    now = pass;
    longest = std::min<std::int64_t>(longest * 2, 5000);
  }
  // A success forgets them.
  const std::int64_t pass = next_pass(breaker, now);
  breaker.succeeded(breaker.admit(pass), pass);
  fail(breaker, 3, pass);
  EXPECT_LE(next_pass(breaker, pass) - pass, 50);
}

TEST(Breaker, PausesDifferBetweenInstances) {
  std::set<std::int64_t> pauses;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Breaker breaker({.pause_min_ms = 1000}, seed * 0x9E3779B97F4A7C15U);
    fail(breaker, 3, kStart);
    pauses.insert(next_pass(breaker, kStart));
  }
  EXPECT_GT(pauses.size(), 10U);
}

TEST(Breaker, HurryEndsThePauseOfAnOpenOneAlone) {
  Breaker breaker({.pause_min_ms = 1000}, 1);
  breaker.hurry(kStart);
  EXPECT_EQ(breaker.admit(kStart), Pass::call);
  fail(breaker, 3, kStart);
  EXPECT_EQ(breaker.admit(kStart + 10), Pass::refused);
  breaker.hurry(kStart + 10);
  EXPECT_EQ(breaker.admit(kStart + 10), Pass::probe);
  breaker.hurry(kStart + 10);
  EXPECT_EQ(breaker.admit(kStart + 11), Pass::refused) << "one probe at a time";
  breaker.failed(Pass::probe, kStart + 11);
  EXPECT_EQ(breaker.admit(kStart + 12), Pass::refused);
}

TEST(Breaker, LateResultsOfEarlierCallsChangeNothing) {
  Breaker breaker({}, 1);
  const Pass early = breaker.admit(kStart);
  fail(breaker, 3, kStart);
  breaker.succeeded(early, kStart + 1);
  EXPECT_EQ(breaker.state(), State::open);
  const std::int64_t later = next_pass(breaker, kStart);
  ASSERT_EQ(breaker.admit(later), Pass::probe);
  breaker.failed(early, later);
  EXPECT_EQ(breaker.state(), State::half_open);
}

TEST(Breaker, AProbeThatNeverReportsIsReplaced) {
  Breaker breaker({}, 1);
  fail(breaker, 3, kStart);
  const std::int64_t later = next_pass(breaker, kStart);
  ASSERT_EQ(breaker.admit(later), Pass::probe);
  EXPECT_TRUE(breaker.refuses(later + 999));
  EXPECT_EQ(breaker.admit(later + 1000), Pass::probe);
}

}  // namespace
}  // namespace weir
