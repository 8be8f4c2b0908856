// SPDX-License-Identifier: Apache-2.0
// What permit leases promise, on an injected clock: never over the limit, few store calls, cold keys exact.
#include <gtest/gtest.h>

#include "store/lease_fleet.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Policy;

// The most that was allowed in any `window_ms`.
std::int64_t most_within(const Tally& tally, std::int64_t window_ms) {
  std::int64_t most = 0;
  std::size_t first = 0;
  for (std::size_t n = 0; n < tally.at_ms.size(); ++n) {
    while (tally.at_ms[n] - tally.at_ms[first] >= window_ms) ++first;
    most = std::max(most, static_cast<std::int64_t>(n - first + 1));
  }
  return most;
}

class HotKey : public testing::TestWithParam<AlgorithmKind> {};

TEST_P(HotKey, FourGatewaysAtOneAndAHalfNeverPassTheLimitAndAskSeldom) {
  constexpr std::size_t kGateways = 4;
  constexpr std::int64_t kWindow = 10'000;
  constexpr std::int64_t kLimit = 4'000;
  LeaseFleet fleet(kGateways);
  const Policy policy = policy_of(GetParam(), kLimit, kWindow);
  drive(fleet, kGateways, policy, "k", 600, 2 * kWindow, 1);  // until rates and windows are what they stay
  const int calls = fleet.calls();
  const Tally tally = drive(fleet, kGateways, policy, "k", 600, 4 * kWindow, 2);
  const double per_request = static_cast<double>(fleet.calls() - calls) / static_cast<double>(tally.offered);
  EXPECT_LE(per_request, 0.05);
  // The same arrivals, each counted by the store.
  LeaseFleet exact(1, Counting::exact);
  drive(exact, 1, policy, "k", 600, 2 * kWindow, 1);
  const Tally counted = drive(exact, 1, policy, "k", 600, 4 * kWindow, 2);
  EXPECT_LE(tally.allowed, counted.allowed + kLimit / 100) << "a window that began before may end within";
  const bool rolls = GetParam() == AlgorithmKind::sliding_window;
  const bool estimates = GetParam() == AlgorithmKind::sliding_counter;
  EXPECT_GE(tally.allowed, counted.allowed * (rolls || estimates ? 95 : 99) / 100);
  if (rolls) EXPECT_LE(most_within(tally, kWindow), kLimit);
}

TEST_P(HotKey, BelowItsLimitNothingIsRefused) {
  LeaseFleet fleet(4);
  const Policy policy = policy_of(GetParam(), 4'000, 10'000);
  drive(fleet, 4, policy, "k", 200, 12'000, 3);
  const int calls = fleet.calls();
  const Tally tally = drive(fleet, 4, policy, "k", 200, 20'000, 4);
  EXPECT_EQ(tally.allowed, tally.offered);
  EXPECT_LE(static_cast<double>(fleet.calls() - calls) / static_cast<double>(tally.offered), 0.06);
}

TEST_P(HotKey, AfterTheTrafficAllThatIsHeldGoesBack) {
  LeaseFleet fleet(2);
  const Policy policy = policy_of(GetParam(), 100'000, 600'000);
  const Tally tally = drive(fleet, 2, policy, "k", 400, 3'000, 5);
  EXPECT_GT(fleet.held(), 0);
  for (int ms = 0; ms < 2'000; ms += 10) fleet.advance(10);
  EXPECT_EQ(fleet.held(), 0);
  EXPECT_EQ(tally.allowed, tally.offered);
  const bool bucket = GetParam() == AlgorithmKind::token_bucket || GetParam() == AlgorithmKind::gcra;
  if (bucket) {
    // Refilled meanwhile: 5 s at 1000 in 6 s. Never fuller than had nothing been lent.
    EXPECT_LE(fleet.used("k"), tally.allowed);
  } else {
    EXPECT_EQ(fleet.used("k"), tally.allowed);
  }
}

TEST_P(HotKey, ADrainGivesEverythingBackAtOnce) {
  LeaseFleet fleet(2);
  const Policy policy = policy_of(GetParam(), 100'000, 600'000);
  drive(fleet, 2, policy, "k", 400, 3'000, 6);
  const std::int64_t held = fleet.held();
  const std::int64_t used = fleet.used("k");
  ASSERT_GT(held, 0);
  fleet.leases(0).drain();
  fleet.leases(1).drain();
  fleet.poll();
  EXPECT_EQ(fleet.held(), 0);
  EXPECT_EQ(fleet.used("k"), used - held);
  EXPECT_TRUE(fleet.leases(0).idle());
  const Tally after = drive(fleet, 2, policy, "k", 400, 1'000, 7);
  EXPECT_EQ(after.allowed, after.offered);
  EXPECT_EQ(fleet.held(), 0) << "a gateway that drains takes no new lease";
}

INSTANTIATE_TEST_SUITE_P(each, HotKey, testing::ValuesIn(kLeased),
                         [](const auto& each) { return std::string(limit::name_of(each.param)); });

TEST(LeaseStore, ColdKeysAreCountedExactly) {
  LeaseFleet fleet(4);
  for (const AlgorithmKind kind : kAllAlgorithms) {
    if (kind == AlgorithmKind::concurrency || kind == AlgorithmKind::leaky_bucket) continue;
    const Policy policy = policy_of(kind, 20, 60'000);
    const std::string key(limit::name_of(kind));
    int allowed = 0;
    for (std::size_t n = 0; n < 30; ++n) {
      allowed += fleet.request(n % 4, policy, key) ? 1 : 0;
      fleet.advance(3);
    }
    EXPECT_EQ(allowed, 20) << key;
  }
  EXPECT_EQ(fleet.held(), 0);
}

TEST(LeaseStore, ARefusalIsBelievedUntilItsRetryAfter) {
  LeaseFleet fleet(1);
  const Policy policy = policy_of(AlgorithmKind::token_bucket, 100, 60'000);
  for (int n = 0; n < 100; ++n) ASSERT_TRUE(fleet.request(0, policy, "k"));
  ASSERT_FALSE(fleet.request(0, policy, "k"));
  const int calls = fleet.calls();
  fleet.advance(599);
  limit::ChargeSet set;
  add_layer(set, policy, "k");
  EXPECT_FALSE(fleet.request(0, set));
  EXPECT_EQ(set.charge[0].verdict.retry_after_ms, 1);
  EXPECT_EQ(fleet.calls(), calls) << "no call for what is known";
  fleet.advance(1);
  EXPECT_TRUE(fleet.request(0, policy, "k")) << "who waits as long as he was told passes";
}

TEST(LeaseStore, ARefusalIsNotBelievedForMoreThanASecond) {
  LeaseFleet fleet(1);
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 5, 60'000);
  for (int n = 0; n < 5; ++n) ASSERT_TRUE(fleet.request(0, policy, "k"));
  ASSERT_FALSE(fleet.request(0, policy, "k"));
  fleet.memory().forget("k");
  fleet.advance(999);
  EXPECT_FALSE(fleet.request(0, policy, "k"));
  fleet.advance(1);
  EXPECT_TRUE(fleet.request(0, policy, "k"));
}

TEST(LeaseStore, AStoreThatHasLostItsCounterIsToldWhatWasUsed) {
  LeaseFleet fleet(4);
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 2'000, 600'000);
  std::int64_t passed = drive(fleet, 4, policy, "k", 400, 4'000).allowed;
  fleet.lose("k");
  passed += drive(fleet, 4, policy, "k", 400, 5'000, 8).allowed;
  EXPECT_GE(passed, 2'000);
  EXPECT_LE(passed, 2'200) << "nobody told: 3600";
  EXPECT_GE(fleet.used("k"), 2'000);
}

TEST(LeaseStore, WhatANewServerKnowsBetterIsNotToldAgain) {
  LeaseFleet fleet(2);
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 2'000, 600'000);
  std::int64_t passed = drive(fleet, 2, policy, "k", 200, 2'000).allowed;
  fleet.lose("other");
  passed += drive(fleet, 2, policy, "k", 200, 1'000, 8).allowed;
  fleet.advance(2'000);
  EXPECT_EQ(fleet.used("k"), passed) << "all of its connections are new, and nothing is lost";
}

TEST(LeaseStore, WhoIsOverCostsTheOthersNothing) {
  LeaseFleet fleet(1);
  const Policy caller = policy_of(AlgorithmKind::token_bucket, 10'000, 60'000);
  const Policy user = policy_of(AlgorithmKind::token_bucket, 20, 60'000);
  const auto ask = [&] {
    limit::ChargeSet set;
    add_layer(set, caller, "caller");
    add_layer(set, user, "user");
    return fleet.request(0, set);
  };
  int allowed = 0;
  for (int n = 0; n < 2'000; ++n) {
    allowed += ask() ? 1 : 0;
    fleet.advance(1);
  }
  EXPECT_LE(allowed, 21);
  for (int ms = 0; ms < 2'000; ms += 10) fleet.advance(10);
  EXPECT_LE(fleet.used("caller"), allowed);
}

// A burst that is asked for one by one while a lease takes what is left: the lease is for them.
TEST(LeaseStore, NobodyIsRefusedByALeaseOfItsOwnProcess) {
  LeaseFleet fleet(1);
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 240, 600'000);
  Tally tally = drive(fleet, 1, policy, "k", 1'000, 150, 12);
  const std::int64_t left = 240 - tally.allowed;
  ASSERT_GT(left, 20);
  std::vector<std::unique_ptr<limit::ChargeSet>> sets;
  for (std::int64_t n = 0; n < left + 10; ++n) {
    add_layer(*sets.emplace_back(std::make_unique<limit::ChargeSet>()), policy, "k");
  }
  const auto passed = fleet.at_once(0, sets);
  EXPECT_EQ(passed, left);
}

TEST(LeaseStore, AKilledGatewayTakesNoMoreThanItsLeaseAlong) {
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 4'000, 10'000);
  LeaseFleet fleet(3);
  Tally tally = drive(fleet, 3, policy, "k", 600, 9'000, 8);
  // The third is gone, with what it holds.
  const std::int64_t lost = fleet.pool(2).held();
  fleet.leases(2).close();
  EXPECT_LE(lost, 200);
  tally = drive(fleet, 2, policy, "k", 600, 40'000, 9);
  EXPECT_LE(tally.allowed, 4 * 4'000 + 4'000);
  EXPECT_GE(tally.allowed, 4 * 4'000 - lost - 40);
}

TEST(LeaseStore, WhatALostCallWasToGiveBackHasLapsed) {
  LeaseFleet fleet(1);
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 100'000, 600'000);
  drive(fleet, 1, policy, "k", 400, 3'000, 11);
  const std::int64_t held = fleet.held();
  const std::uint64_t lapsed = fleet.pool(0).stats().lapsed;
  ASSERT_GT(held, 0);
  fleet.deafen(0, true);
  for (int ms = 0; ms < 2'000; ms += 10) fleet.advance(10);
  EXPECT_EQ(fleet.pool(0).stats().lapsed, lapsed + static_cast<std::uint64_t>(held));
}

TEST(LeaseStore, EveryPermitThatWasLentIsAccountedFor) {
  std::uint64_t returned = 0;
  std::uint64_t lapsed = 0;
  for (const AlgorithmKind kind : kLeased) {
    LeaseFleet fleet(2);
    const Policy policy = policy_of(kind, 10'000, 3'000);
    for (unsigned round = 0; round < 20; ++round) {
      fleet.deafen(round % 2, round % 3 == 0);
      drive(fleet, 2, policy, "k", round % 4 == 0 ? 20 : 500, 700, round);
    }
    for (std::size_t n = 0; n < 2; ++n) {
      const LeasePoolStats& stats = fleet.pool(n).stats();
      const std::uint64_t ended = fleet.leases(n).stats().hits + stats.returned + stats.lapsed;
      EXPECT_EQ(stats.granted, ended + static_cast<std::uint64_t>(fleet.pool(n).held())) << policy.layer;
      returned += stats.returned;
      lapsed += stats.lapsed;
    }
  }
  EXPECT_GT(returned, 0);
  EXPECT_GT(lapsed, 0);
}

TEST(LeaseStore, ALoweredLimitActsAtOnce) {
  for (const AlgorithmKind kind : {AlgorithmKind::fixed_window, AlgorithmKind::sliding_window,
                                   AlgorithmKind::token_bucket, AlgorithmKind::gcra}) {
    LeaseFleet fleet(1);
    const Policy wide = policy_of(kind, 100'000, 6'000'000);
    const Policy narrow = policy_of(kind, 10, 6'000'000);
    drive(fleet, 1, wide, "k", 400, 2'000, 10);
    ASSERT_GT(fleet.held(), 0) << limit::name_of(kind);
    EXPECT_FALSE(fleet.request(0, narrow, "k")) << limit::name_of(kind);
    fleet.advance(10);
    EXPECT_FALSE(fleet.request(0, narrow, "k")) << limit::name_of(kind) << ": what was held is not new";
  }
}

TEST(LeaseStore, ManyKeysDoNotGrowThePool) {
  LeaseFleet fleet(1);
  const Policy policy = policy_of(AlgorithmKind::token_bucket, 10, 60'000);
  for (int n = 0; n < 100'000; ++n) fleet.request(0, policy, "key" + std::to_string(n));
  EXPECT_TRUE(fleet.request(0, policy, "key1"));
}

}  // namespace
}  // namespace weir::store
