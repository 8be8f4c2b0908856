// SPDX-License-Identifier: Apache-2.0
// A region as one: its gateways spend what any of them fetched, one fetches at a time, and what goes wrong on
// the way loses permits at most.
#include <gtest/gtest.h>

#include "store/pool_fleet.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Policy;

constexpr std::string_view kKey = "w2:n:{c=c}:caller:fw:3600000";

Policy of_all(std::int64_t limit, AlgorithmKind kind = AlgorithmKind::fixed_window) {
  Policy policy = policy_of(kind, limit, 3'600'000);
  policy.scope = limit::Scope::global;
  return policy;
}

// Requests at all gateways in turn, `gap_ms` apart; how many were allowed.
int drive(PoolFleet& fleet, std::size_t gateways, const Policy& policy, int count, std::int64_t gap_ms) {
  int allowed = 0;
  for (int n = 0; n < count; ++n) {
    allowed += fleet.request(static_cast<std::size_t>(n) % gateways, policy, kKey) ? 1 : 0;
    fleet.advance(gap_ms);
  }
  return allowed;
}

TEST(PoolStore, ThreeGatewaysAskTheParentAsSeldomAsOne) {
  const Policy wide = of_all(1'000'000);
  int calls[2];
  for (const std::size_t gateways : {1U, 3U}) {
    PoolFleet fleet({.gateways = gateways});
    drive(fleet, gateways, wide, 60, 20);
    const int before = fleet.parent_calls();
    drive(fleet, gateways, wide, 1000, 10);
    calls[gateways == 3U] = fleet.parent_calls() - before;
    fleet.drain();
    EXPECT_EQ(fleet.used(wide, kKey), 1060);
  }
  EXPECT_LE(calls[0], 14) << "10 s with leases of 2 s";
  EXPECT_LE(calls[1], 14);
}

TEST(PoolStore, WhatEachSeesSeldomIsFetchedOnceForAll) {
  const Policy wide = of_all(1'000'000);
  PoolFleet fleet({.gateways = 3, .ttl = std::chrono::seconds(10)});
  drive(fleet, 3, wide, 60, 160);
  const int before = fleet.parent_calls();
  EXPECT_EQ(drive(fleet, 3, wide, 120, 160), 120);
  EXPECT_LE(fleet.parent_calls() - before, 8) << "each sees it twice a second";
  fleet.drain();
  EXPECT_EQ(fleet.used(wide, kKey), 180);
}

TEST(PoolStore, TheLimitIsExact) {
  const Policy narrow = of_all(500);
  PoolFleet fleet({.regions = 2, .gateways = 2});
  EXPECT_EQ(drive(fleet, 4, narrow, 2000, 7), 500);
  EXPECT_EQ(fleet.used(narrow, kKey), 500);
}

TEST(PoolStore, ANewGatewaySpendsWhatTheRegionHolds) {
  const Policy wide = of_all(1'000'000);
  PoolFleet fleet({.ttl = std::chrono::seconds(10)});
  drive(fleet, 3, wide, 100, 10);
  for (std::size_t gateway = 0; gateway < 3; ++gateway) {
    fleet.kill(gateway);
    fleet.wire(gateway).slow = true;
  }
  EXPECT_GT(fleet.pools(0).held(fleet.clock().monotonic_ms()) + 1, 0);
  const int before = fleet.parent_calls();
  EXPECT_EQ(drive(fleet, 3, wide, 20, 10), 20) << "nobody has to wait for the parent";
  EXPECT_EQ(fleet.parent_calls(), before);
}

TEST(PoolStore, AFetcherThatDiesIsReplaced) {
  const Policy wide = of_all(1'000'000);
  PoolFleet fleet({.gateways = 2});
  // The first is sent for the first batch, and is never heard of again.
  int n = 0;
  fleet.wire(0).slow = true;
  while (fleet.wire(0).calls < 6) {
    fleet.begin(0, wide, kKey);
    fleet.advance(100);
    ASSERT_LT(++n, 100);
  }
  fleet.kill(0);
  const auto leases = [&] { return fleet.store(1).stats().leases.load(); };
  for (n = 0; n < 60 && leases() == 0; ++n) {
    EXPECT_TRUE(fleet.request(1, wide, kKey)) << "meanwhile each asks for itself";
    fleet.advance(50);
  }
  EXPECT_EQ(leases(), 1U);
  EXPECT_LE(n, 50) << "2 s and a little";
}

TEST(PoolStore, AnAnswerThatCameTooLateGoesBackToTheParent) {
  const Policy wide = of_all(1'000'000);
  PoolFleet fleet({.gateways = 2});
  EXPECT_EQ(drive(fleet, 2, wide, 40, 25), 40);
  fleet.advance(2100);  // what was held is over, and gone back
  fleet.advance(1000);
  ASSERT_EQ(fleet.used(wide, kKey), 40);
  fleet.wire(0).slow = true;
  for (int n = 0; n < 10; ++n) {
    fleet.begin(0, wide, kKey);
    fleet.advance(50);
  }
  fleet.advance(3000);
  fleet.wire(0).hurry();
  fleet.settle_down();
  fleet.advance(3000);
  fleet.drain();
  EXPECT_EQ(fleet.used(wide, kKey), 50);
}

TEST(PoolStore, ARefusalOfTheParentReachesThePeers) {
  const Policy narrow = of_all(30);
  PoolFleet fleet({});
  drive(fleet, 3, narrow, 60, 25);
  fleet.advance(1100);
  EXPECT_FALSE(fleet.request(0, narrow, kKey));
  const int before = fleet.parent_calls();
  EXPECT_FALSE(fleet.request(1, narrow, kKey));
  EXPECT_FALSE(fleet.request(2, narrow, kKey));
  EXPECT_EQ(fleet.parent_calls(), before);
}

// One gateway's fetch takes the last permits, and is long on its way: the parent refuses the others, who wait
// for it.
TEST(PoolStore, WhoIsRefusedForTheFetchOfAPeerWaitsForIt) {
  constexpr int kLimit = 60;
  constexpr int kTooMany = 3;
  const Policy narrow = of_all(kLimit);
  PoolFleet fleet({.gateways = 2, .parent_timeout = std::chrono::seconds(2)});
  fleet.wire(0).slow = true;
  std::deque<limit::ChargeSet*> begun;
  const auto used = [&] { return static_cast<std::size_t>(fleet.used(narrow, kKey)); };
  do {
    begun.push_back(&fleet.begin(0, narrow, kKey));  // until one of them is sent to fetch
    fleet.advance(50);
  } while (used() == begun.size() && begun.size() < 30);
  ASSERT_GT(used(), begun.size());
  while (begun.size() < kLimit + kTooMany) begun.push_back(&fleet.begin(1, narrow, kKey));
  EXPECT_EQ(used(), kLimit);
  fleet.wire(0).hurry();
  fleet.run_for(std::chrono::milliseconds(400));
  EXPECT_EQ(std::ranges::count_if(begun, [](const auto* set) { return limit::conclude(*set).allowed(); }),
            kLimit);
  EXPECT_EQ(used(), kLimit);
}

TEST(PoolStore, ARegionsStoreThatIsIllLeavesEachToItself) {
  const Policy narrow = of_all(300);
  PoolFleet fleet({});
  drive(fleet, 3, narrow, 60, 10);
  fleet.redis(0).kill();
  int allowed = 0;
  for (std::size_t n = 0; n < 600; ++n) {
    allowed += fleet.request(n % 3, narrow, kKey) ? 1 : 0;
    fleet.clock().advance(10);
  }
  EXPECT_GT(fleet.store(0).stats().ill.load(), 0U);
  EXPECT_GT(allowed, 0);
  EXPECT_LE(allowed + 60, 300) << "what was held is lost";
  EXPECT_EQ(fleet.used(narrow, kKey), 300);
}

TEST(PoolStore, WhatARegionForgetsIsNotSpentTwice) {
  const Policy narrow = of_all(500);
  PoolFleet fleet({});
  int allowed = drive(fleet, 3, narrow, 150, 10);
  fleet.flush(0);
  allowed += drive(fleet, 3, narrow, 1500, 10);
  EXPECT_LT(allowed, 500);
  EXPECT_GT(allowed, 250);
  EXPECT_EQ(fleet.used(narrow, kKey), 500);
}

TEST(PoolStore, WhatACopyStillHoldsIsNotSpent) {
  const Policy narrow = of_all(300);
  PoolFleet fleet({.ttl = std::chrono::seconds(10)});
  int allowed = drive(fleet, 3, narrow, 60, 10);
  const std::string before = fleet.pool_state(0, kKey);
  allowed += drive(fleet, 3, narrow, 600, 5);
  EXPECT_EQ(allowed, 300);
  fleet.restart_with(0, kKey, before);
  EXPECT_EQ(drive(fleet, 3, narrow, 200, 5), 0);
}

TEST(PoolStore, WhoLeavesOthersBehindTakesNothingAlong) {
  const Policy wide = of_all(1'000'000);
  PoolFleet fleet({.gateways = 2, .ttl = std::chrono::seconds(10)});
  drive(fleet, 2, wide, 80, 10);
  fleet.store(0).drain();
  fleet.store(0).when_left()(1);
  fleet.settle_down();
  EXPECT_TRUE(fleet.store(0).idle());
  const int before = fleet.parent_calls();
  EXPECT_TRUE(fleet.request(1, wide, kKey));
  EXPECT_EQ(fleet.parent_calls(), before) << "it is all there";
  fleet.drain();
  EXPECT_EQ(fleet.used(wide, kKey), 81);
}

TEST(PoolStore, ARefusalElsewhereCostsTheRegionNothing) {
  const Policy wide = of_all(1'000'000);
  const Policy one = of_all(1);
  PoolFleet fleet({.gateways = 1, .ttl = std::chrono::seconds(10)});
  drive(fleet, 1, wide, 60, 10);
  for (int n = 0; n < 20; ++n) {
    limit::ChargeSet set;
    add_layer(set, wide, kKey);
    add_layer(set, one, "w2:n:{c=c}:api:fw:3600000");
    EXPECT_EQ(fleet.request(0, set), n == 0);
    fleet.advance(1500);
  }
  fleet.drain();
  EXPECT_EQ(fleet.used(wide, kKey), 61);
}

TEST(PoolStore, RelaxedAccountingAsksTheParent) {
  const Policy wide = of_all(1'000'000);
  PoolFleet fleet({.gateways = 1});
  for (int n = 0; n < 50; ++n) {
    limit::ChargeSet set;
    set.accounting = limit::Accounting::relaxed;
    add_layer(set, wide, kKey);
    EXPECT_TRUE(fleet.request(0, set));
    fleet.advance(10);
  }
  EXPECT_EQ(fleet.parent_calls(), 50);
  EXPECT_EQ(fleet.client(0).integer({"EXISTS", pool_key(kKey)}), 0);
}

}  // namespace
}  // namespace weir::store
