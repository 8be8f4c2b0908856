// SPDX-License-Identifier: Apache-2.0
// Layers of this process and layers of the fleet in one chain.
#include <gtest/gtest.h>

#include "store/fake_clock.hpp"
#include "store/memory_store.hpp"
#include "store/redis_world.hpp"
#include "store/scope_store.hpp"
#include "support/redis_server.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::ChargeSet;

class ScopeTest : public ::testing::Test {
 protected:
  ScopeTest() { EXPECT_TRUE(world_.ready()); }

  static limit::Policy instance(std::int64_t limit, AlgorithmKind kind = AlgorithmKind::token_bucket) {
    limit::Policy policy = policy_of(kind, limit);
    policy.scope = limit::Scope::instance;
    return policy;
  }
  void decide(ChargeSet& set) {
    if (!store_.decide_now(set)) world_.run(store_.decide(set));
    EXPECT_FALSE(set.store_error);
  }
  std::uint64_t calls() const { return world_.store().stats().calls; }
  std::int64_t left_here(const limit::Policy& policy, std::string_view key) {
    ChargeSet set;
    add_layer(set, policy, key, 0);
    memory_.look(set);
    return set.charge[0].verdict.remaining;
  }

  test::RedisServer server_;
  mutable RedisWorld world_{server_.port()};
  FakeClock clock_;
  MemoryStore memory_{1000, clock_};
  ScopeStore store_{memory_, world_.store()};
};

TEST_F(ScopeTest, SetsOfOneKindGoStraightThrough) {
  const limit::Policy here = instance(10);
  const limit::Policy fleet = policy_of(AlgorithmKind::gcra, 10);
  ChargeSet set;
  add_layer(set, here, "a");
  add_layer(set, here, "b");
  EXPECT_TRUE(store_.decide_now(set)) << "memory does not wait";
  EXPECT_EQ(calls(), 0U);
  ChargeSet shared;
  add_layer(shared, fleet, "a");
  EXPECT_FALSE(store_.decide_now(shared));
  decide(shared);
  EXPECT_EQ(calls(), 1U);
  EXPECT_EQ(shared.charge[0].verdict.remaining, 9);
}

TEST_F(ScopeTest, VerdictsKeepTheOrderOfTheChain) {
  const limit::Policy first = policy_of(AlgorithmKind::gcra, 11);
  const limit::Policy second = instance(22);
  const limit::Policy third = policy_of(AlgorithmKind::fixed_window, 33);
  const limit::Policy fourth = instance(44, AlgorithmKind::sliding_log);
  ChargeSet set;
  add_layer(set, first, "a");
  add_layer(set, second, "b");
  add_layer(set, third, "c");
  add_layer(set, fourth, "d");
  decide(set);
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(set.charge[n].verdict.limit, static_cast<std::int64_t>(11 * (n + 1)));
    EXPECT_EQ(set.charge[n].verdict.remaining, static_cast<std::int64_t>(11 * (n + 1) - 1));
    EXPECT_TRUE(set.charge[n].charged);
  }
  EXPECT_GT(set.store_now_ms, 0);
}

TEST_F(ScopeTest, WhenThisProcessRefusesTheFleetIsNotAsked) {
  const limit::Policy here = instance(1);
  const limit::Policy fleet = policy_of(AlgorithmKind::gcra, 10);
  for (int n = 0; n < 10; ++n) {
    ChargeSet set;
    add_layer(set, fleet, "f");
    add_layer(set, here, "h");
    decide(set);
    EXPECT_EQ(set.charge[0].charged, n == 0);
    EXPECT_EQ(limit::conclude(set).allowed(), n == 0);
    EXPECT_TRUE(set.charge[0].verdict.within_limit);
  }
  EXPECT_EQ(calls(), 1U);
}

TEST_F(ScopeTest, WhenTheFleetRefusesTheLocalChargeIsGivenBack) {
  const limit::Policy bucket = instance(100);
  const limit::Policy slots = instance(100, AlgorithmKind::concurrency);
  const limit::Policy fleet = policy_of(AlgorithmKind::gcra, 3);
  for (int n = 0; n < 20; ++n) {
    ChargeSet set;
    add_layer(set, bucket, "b", 2);
    add_layer(set, fleet, "f").request.owner = static_cast<std::uint64_t>(n + 1);
    add_layer(set, slots, "s").request.owner = static_cast<std::uint64_t>(n + 1);
    decide(set);
    EXPECT_EQ(set.charge[0].charged, n < 3);
    EXPECT_EQ(set.charge[2].charged, n < 3);
  }
  EXPECT_EQ(left_here(bucket, "b"), 94);
  EXPECT_EQ(left_here(slots, "s"), 97);
}

TEST_F(ScopeTest, RelaxedKeepsWhatStandsBeforeTheRefusal) {
  const limit::Policy before = instance(100);
  const limit::Policy fleet = policy_of(AlgorithmKind::gcra, 1);
  const limit::Policy after = instance(100);
  for (int n = 0; n < 5; ++n) {
    ChargeSet set;
    set.accounting = limit::Accounting::relaxed;
    add_layer(set, before, "before");
    add_layer(set, fleet, "f");
    add_layer(set, after, "after");
    decide(set);
  }
  EXPECT_EQ(left_here(before, "before"), 95);
  EXPECT_EQ(left_here(after, "after"), 99);
}

TEST_F(ScopeTest, SettleAndReleaseReachBothSides) {
  const limit::Policy bucket = instance(100);
  const limit::Policy slots = instance(100, AlgorithmKind::concurrency);
  const limit::Policy fleet = policy_of(AlgorithmKind::token_bucket, 100);
  const limit::Policy fleet_slots = policy_of(AlgorithmKind::concurrency, 100);
  ChargeSet set;
  add_layer(set, bucket, "b");
  add_layer(set, fleet, "f");
  add_layer(set, slots, "s");
  add_layer(set, fleet_slots, "fs");
  decide(set);
  store_.settle(set, 9);
  store_.renew(set);
  store_.release(set);
  world_.drain();
  world_.run(store_.peek(set));
  EXPECT_EQ(set.charge[0].verdict.remaining, 90);
  EXPECT_EQ(set.charge[1].verdict.remaining, 90);
  EXPECT_EQ(set.charge[2].verdict.remaining, 100);
  EXPECT_EQ(set.charge[3].verdict.remaining, 100);
}

}  // namespace
}  // namespace weir::store
