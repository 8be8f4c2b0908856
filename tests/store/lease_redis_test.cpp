// SPDX-License-Identifier: Apache-2.0
// The script's side of leases, on a real server whose clock the test sets.
#include <gtest/gtest.h>

#include <bit>
#include <deque>
#include <random>
#include <string>

#include "store/redis_world.hpp"
#include "support/redis_server.hpp"

namespace weir::redis {
extern const Script kLeaseStoredClockChain;
}

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Lease;
using limit::Policy;

Lease asking(std::int64_t more, std::int64_t least, std::int64_t permille, std::int64_t life_ms) {
  Lease lease;
  lease.more = more;
  lease.least = least;
  lease.permille = permille;
  lease.life_ms = life_ms;
  return lease;
}

class LeaseScript : public testing::Test {
 protected:
  static constexpr std::int64_t kStart = 1'800'000'000'000;

  void SetUp() override {
    ASSERT_TRUE(world_.ready());
    set_now(kStart);
    client_.call({"FLUSHDB"});
    set_now(kStart);
  }
  void set_now(std::int64_t ms) {
    now_ms_ = ms;
    client_.call({"SET", "test:now", std::to_string(ms)});
  }
  // One layer; a lease with it.
  limit::Verdict ask(const Policy& policy, std::int64_t cost, Lease& lease) {
    limit::ChargeSet set;
    limit::Charge& charge = add_layer(set, policy, "w1:{k}", cost);
    charge.lease = &lease;
    decide(set);
    return set.charge[0].verdict;
  }
  void decide(limit::ChargeSet& set) {
    world_.run(answered(world_.store(), set));
    ASSERT_FALSE(set.store_error) << set.store_error.message();
  }
  void call(std::initializer_list<std::string_view> command) { client_.call(command); }
  std::int64_t left(const Policy& policy) {
    Lease none;
    return ask(policy, 0, none).remaining;
  }

  std::int64_t now_ms_ = kStart;

 private:
  static boost::asio::awaitable<bool> answered(RedisStore& store, limit::ChargeSet& set) {
    co_await store.decide(set);
    co_return true;
  }
  static test::RedisServer& server() {
    static test::RedisServer one;
    return one;
  }
  test::RespClient client_{server().port()};
  RedisWorld world_{server().port(), std::chrono::seconds(20), redis::kLeaseStoredClockChain};
};

class LeaseScriptOf : public LeaseScript, public testing::WithParamInterface<AlgorithmKind> {};

TEST_P(LeaseScriptOf, GrantsByShareAndFloorAndNeverMoreThanThereIs) {
  const Policy policy = policy_of(GetParam(), 100);
  Lease by_share = asking(40, 0, 100, 1000);
  EXPECT_EQ(ask(policy, 1, by_share).remaining, 90);
  EXPECT_EQ(by_share.granted, 9);
  Lease whole = asking(40, 0, 1000, 1000);
  EXPECT_EQ(ask(policy, 0, whole).remaining, 50);
  Lease floor = asking(40, 20, 10, 1000);
  EXPECT_EQ(ask(policy, 0, floor).remaining, 30);
  EXPECT_EQ(floor.next_ms, 0);
  Lease rest = asking(1000, 0, 1000, 1000);
  EXPECT_EQ(ask(policy, 1, rest).remaining, 0);
  EXPECT_EQ(rest.granted, 29);
  EXPECT_GT(rest.next_ms, 0);
  Lease none = asking(10, 0, 1000, 1000);
  EXPECT_FALSE(ask(policy, 1, none).within_limit);
  EXPECT_EQ(none.granted, 0);
}

TEST_P(LeaseScriptOf, WhatIsGivenBackIsThereAgainEvenIfTheRequestIsRefused) {
  const Policy policy = policy_of(GetParam(), 100);
  Lease lease = asking(100, 0, 1000, 1000);
  ask(policy, 0, lease);
  ASSERT_EQ(lease.granted, 100);
  Lease back = asking(0, 0, 1000, 1000);
  back.back = {Lease::Spent{30, now_ms_}, Lease::Spent{}};
  EXPECT_FALSE(ask(policy, 31, back).within_limit);
  EXPECT_EQ(left(policy), 30);
}

TEST_P(LeaseScriptOf, ARefusedChainLeasesNothing) {
  const Policy policy = policy_of(GetParam(), 100);
  const Policy narrow = policy_of(AlgorithmKind::fixed_window, 1);
  Lease lease = asking(50, 0, 1000, 1000);
  limit::ChargeSet set;
  add_layer(set, policy, "w1:{k}").lease = &lease;
  add_layer(set, narrow, "w1:{k}:narrow", 2);
  decide(set);
  EXPECT_EQ(lease.granted, 0);
  EXPECT_EQ(left(policy), 100);
}

INSTANTIATE_TEST_SUITE_P(each, LeaseScriptOf,
                         testing::Values(AlgorithmKind::fixed_window, AlgorithmKind::sliding_window,
                                         AlgorithmKind::sliding_counter, AlgorithmKind::token_bucket,
                                         AlgorithmKind::gcra),
                         [](const auto& each) { return std::string(limit::name_of(each.param)); });

// A server that has lost a window is told what an asker saw used of it, and when.
class LostWindow : public LeaseScript {
 protected:
  Policy policy_ = policy_of(AlgorithmKind::fixed_window, 100);

  Lease::Seen use(std::int64_t permits) {
    Lease lease = asking(permits, 0, 1000, 1000);
    const limit::Verdict verdict = ask(policy_, 0, lease);
    EXPECT_EQ(lease.granted, permits);
    return {policy_.terms.limit - verdict.remaining, now_ms_ + verdict.reset_ms, now_ms_};
  }
  void lose() { call({"DEL", "w1:{k}"}); }
  std::int64_t left_when_told(const Lease::Seen& seen) {
    Lease lease = asking(0, 0, 1000, 1000);
    lease.seen = seen;
    return ask(policy_, 0, lease).remaining;
  }
};

TEST_F(LostWindow, CountsWhatWasSeen) {
  const Lease::Seen seen = use(60);
  lose();
  Lease lease = asking(50, 0, 1000, 1000);
  lease.seen = seen;
  EXPECT_EQ(ask(policy_, 1, lease).remaining, 0) << "nothing is lent beyond what remains";
  EXPECT_EQ(lease.granted, 39);
}

TEST_F(LostWindow, IsToldByEachAskerAndBelievesTheLast) {
  const Lease::Seen early = use(20);
  set_now(now_ms_ + 50);
  const Lease::Seen late = use(50);
  lose();
  EXPECT_EQ(left_when_told(early), 80);
  EXPECT_EQ(left_when_told(late), 30);
  EXPECT_EQ(left_when_told(early), 30) << "who saw less changes nothing";
}

TEST_F(LostWindow, IsAnotherOnesConcernAfterItsEnd) {
  const Lease::Seen seen = use(60);
  lose();
  set_now(seen.ends_ms);
  EXPECT_EQ(left_when_told(seen), 100);
}

TEST_F(LostWindow, WasNotLostAndIsAsItWas) {
  const Lease::Seen seen = use(60);
  use(10);
  EXPECT_EQ(left_when_told(seen), 30);
}

TEST_F(LostWindow, OfAnotherLimitIsCountedInPermits) {
  const Lease::Seen seen = use(60);
  lose();
  policy_.terms.limit = 200;
  EXPECT_EQ(left_when_told(seen), 140);
  policy_.terms.limit = 50;
  EXPECT_EQ(left_when_told(seen), 0);
}

// lua/forget.lua leaves the moment of the reset where the counter was.
TEST_F(LostWindow, ThatWasResetStaysReset) {
  const Lease::Seen seen = use(60);
  set_now(now_ms_ + 1000);
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(now_ms_));
  std::string state = "\2" + std::string(16, '\0');  // layout, used, ends
  for (int shift = 56; shift >= 0; shift -= 8) state += static_cast<char>(bits >> shift);
  call({"SET", "w1:{k}", state, "PX", "61000"});
  EXPECT_EQ(left_when_told(seen), 100);
  set_now(now_ms_ + 10);
  const Lease::Seen after = use(30);
  EXPECT_EQ(left_when_told(seen), 70) << "it is remembered for as long as the window lasts";
  EXPECT_EQ(left_when_told({80, after.ends_ms, now_ms_}), 20) << "what was seen after the reset counts";
  set_now(after.ends_ms + 1);
  const Lease::Seen next = use(10);
  EXPECT_EQ(left_when_told({40, next.ends_ms, now_ms_}), 60);
}

class LentBucket : public LeaseScript, public testing::WithParamInterface<AlgorithmKind> {};

TEST_P(LentBucket, RefillsToTheBurstLessWhatIsLent) {
  const Policy policy = policy_of(GetParam(), 100, 1'000);  // a permit each 10 ms
  Lease lease = asking(40, 0, 1000, 400);
  ask(policy, 0, lease);
  ASSERT_EQ(lease.granted, 40);
  set_now(kStart + 399);
  EXPECT_EQ(left(policy), 60) << "the forty may be used any moment";
  Lease report = asking(0, 0, 1000, 400);
  report.spent[0] = {40, kStart};
  ask(policy, 0, report);
  set_now(kStart + 799);
  EXPECT_EQ(left(policy), 100) << "they were used, and are back";
}

TEST_P(LentBucket, ForgetsWhatADeadGatewayHeld) {
  const Policy policy = policy_of(GetParam(), 100, 1'000);
  Lease lease = asking(40, 0, 1000, 400);
  ask(policy, 0, lease);
  set_now(kStart + 2'000);
  EXPECT_EQ(left(policy), 100);
}

// Three holders that hoard, spend late, return and report as they like, within the rules: whatever they do,
// no stretch of time sees more than the burst and its refill.
TEST_P(LentBucket, HoardersNeverPassTheBucket) {
  constexpr std::int64_t kLife = 300;
  struct Held {
    std::int64_t permits, at_ms, used;
  };
  std::mt19937 random(11);
  const auto up_to = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  const Policy policy = policy_of(GetParam(), 200, 2'000);
  std::array<std::deque<Held>, 3> holders;
  double level = 200;  // of an exact bucket, from what is really used
  double lowest = 0;
  std::int64_t last = now_ms_;
  const auto use = [&](std::int64_t count) {
    level = std::min(200.0, level + static_cast<double>(now_ms_ - last) * 0.1) - static_cast<double>(count);
    last = now_ms_;
    lowest = std::min(lowest, level);
  };
  for (int step = 0; step < 1'500; ++step) {
    if (up_to(3) == 0) set_now(now_ms_ + up_to(up_to(9) == 0 ? 900 : 60));
    std::deque<Held>& held = holders[static_cast<std::size_t>(up_to(2))];
    if (up_to(2) == 0) {
      Lease lease = asking(up_to(60), 0, 1 + up_to(999), kLife);
      for (std::size_t n = 0; n < 2 && !held.empty(); ++n) {
        const bool over = now_ms_ - held.front().at_ms >= kLife;
        lease.spent[n] = {held.front().used, held.front().at_ms};
        held.front().used = 0;
        if (!over) break;
        lease.back[n] = {held.front().permits, held.front().at_ms};
        held.pop_front();
      }
      const std::int64_t cost = up_to(1);
      if (ask(policy, cost, lease).within_limit) use(cost);
      if (lease.granted > 0) held.push_back({lease.granted, now_ms_, 0});
    } else if (!held.empty()) {
      Held& any = held[static_cast<std::size_t>(up_to(static_cast<std::int64_t>(held.size()) - 1))];
      if (now_ms_ - any.at_ms >= kLife) continue;
      const std::int64_t count = up_to(3) == 0 ? any.permits : up_to(any.permits);
      any.permits -= count;
      any.used += count;
      use(count);
    }
  }
  EXPECT_GE(lowest, -1) << "one for the rounding of a millisecond";
}

INSTANTIATE_TEST_SUITE_P(each, LentBucket, testing::Values(AlgorithmKind::token_bucket, AlgorithmKind::gcra),
                         [](const auto& each) { return std::string(limit::name_of(each.param)); });

}  // namespace
}  // namespace weir::store
