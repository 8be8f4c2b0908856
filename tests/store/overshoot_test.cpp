// SPDX-License-Identifier: Apache-2.0
#include "store/overshoot.hpp"

#include <gtest/gtest.h>

#include "store/ladder_share.hpp"
#include "store/lease_rules.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::FailureMode;
using limit::Policy;

constexpr std::array kAll{AlgorithmKind::fixed_window,    AlgorithmKind::sliding_window,
                          AlgorithmKind::sliding_counter, AlgorithmKind::sliding_log,
                          AlgorithmKind::token_bucket,    AlgorithmKind::gcra,
                          AlgorithmKind::leaky_bucket,    AlgorithmKind::concurrency};

Policy policy(AlgorithmKind kind, std::int64_t limit = 300, std::int64_t burst = 0) {
  Policy policy;
  policy.terms = {kind, limit, 60'000, burst == 0 ? limit : burst, 0, 10, false};
  return policy;
}

StoreOptions redis(Counting counting = Counting::automatic) {
  StoreOptions options;
  options.kind = StoreKind::redis;
  options.lease.counting = counting;
  return options;
}

TEST(Overshoot, NothingPassesBeyondALimitWhileTheStoreAnswers) {
  for (const AlgorithmKind kind : kAll) {
    for (const Counting counting : {Counting::exact, Counting::automatic, Counting::leased}) {
      const StoreOptions options = redis(counting);
      const Overshoot worst = worst_overshoot(policy(kind), {.store = options, .instances = 5});
      const bool leases = counting != Counting::exact && can_lease(policy(kind).terms);
      EXPECT_EQ(worst.counted, leases ? Counted::leased : Counted::exact) << limit::name_of(kind);
      EXPECT_EQ(worst.permits, 0);
      EXPECT_EQ(worst.lasting, 0);
      EXPECT_FALSE(worst.why.empty());
    }
  }
}

TEST(Overshoot, RelaxedAccountingAsksForEachRequest) {
  const StoreOptions options = redis();
  const Circumstances at{.store = options, .accounting = limit::Accounting::relaxed};
  EXPECT_EQ(counted_now(policy(AlgorithmKind::gcra), at), Counted::exact);
}

// The sum of what all instances may pass on credit is what is promised, and not less than a permit's
// rounding.
TEST(Overshoot, OfDebtIsTheCreditOfAllInstances) {
  StoreOptions options = redis();
  options.lease.debt_permille = 50;
  for (const AlgorithmKind kind : kAll) {
    const Policy each = policy(kind, 1000);
    for (const std::size_t instances : {1, 3, 7, 64}) {
      const Overshoot worst = worst_overshoot(each, {.store = options, .instances = instances});
      const std::int64_t credits =
          static_cast<std::int64_t>(instances) * credit(each.terms, options.lease, 1e9, instances);
      ASSERT_TRUE(worst.permits && worst.lasting);
      EXPECT_GE(*worst.permits, credits);
      EXPECT_LE(*worst.permits, credits + static_cast<std::int64_t>(instances));
      EXPECT_EQ(*worst.lasting, *worst.permits);
    }
  }
  options.lease.counting = Counting::exact;
  EXPECT_EQ(worst_overshoot(policy(AlgorithmKind::gcra), {.store = options}).permits, 0);
}

// Against the very terms that the instances count by: with equal shares, and with uneven ones.
TEST(Overshoot, OfLocalCountingCoversAllShares) {
  const StoreOptions options = redis();
  for (const AlgorithmKind kind : kAll) {
    for (const std::int64_t limit : {1, 3, 10, 299, 300, 100'000}) {
      const Policy each = policy(kind, limit, 2 * limit);
      const std::int64_t capacity = limit::capacity_of(each.terms);
      const auto part = [&each](double factor) { return limit::capacity_of(scaled(each.terms, factor, 1)); };
      for (const std::int64_t instances : {1, 2, 5, 7, 64}) {
        const Circumstances at{
            .store = options, .instances = static_cast<std::size_t>(instances), .health = StoreHealth::brief};
        const Overshoot worst = worst_overshoot(each, at);
        ASSERT_TRUE(worst.permits && worst.lasting);
        EXPECT_EQ(worst.counted, Counted::local);
        const auto n = static_cast<double>(instances);
        const std::int64_t equal = instances * part(local_factor(1 / n, false));
        const std::int64_t uneven =
            part(local_factor(0.5, true)) + (instances - 1) * part(local_factor(0.5 / n, true));
        EXPECT_GE(capacity + *worst.lasting, equal) << limit << " over " << instances;
        EXPECT_LE(capacity + *worst.lasting, equal + instances);
        if (instances > 1) EXPECT_GE(capacity + *worst.lasting, uneven) << limit << " over " << instances;
        EXPECT_EQ(*worst.permits, capacity + *worst.lasting) << "the store had counted a whole limit before";
      }
    }
  }
}

TEST(Overshoot, FollowsTheLadderOfTheLayer) {
  const StoreOptions options = redis();
  Policy each = policy(AlgorithmKind::token_bucket);
  each.on_brief_failure = FailureMode::allow;
  each.on_long_failure = FailureMode::deny;
  Circumstances at{.store = options, .health = StoreHealth::brief};
  EXPECT_EQ(worst_overshoot(each, at).counted, Counted::allow);
  EXPECT_EQ(worst_overshoot(each, at).permits, std::nullopt);
  EXPECT_EQ(worst_overshoot(each, at).lasting, std::nullopt);
  at.health = StoreHealth::long_failure;
  EXPECT_EQ(worst_overshoot(each, at).counted, Counted::deny);
  EXPECT_EQ(worst_overshoot(each, at).permits, 0);
}

TEST(Overshoot, OfAStoreThatForgetsIsOneWindow) {
  const StoreOptions options = redis();
  Circumstances at{.store = options, .memory = StoreMemory::lost};
  const Overshoot window = worst_overshoot(policy(AlgorithmKind::fixed_window, 300), at);
  EXPECT_EQ(window.permits, 300);
  EXPECT_EQ(window.lasting, 0);
  EXPECT_EQ(worst_overshoot(policy(AlgorithmKind::token_bucket, 300, 50), at).permits, 50);
  at.health = StoreHealth::brief;
  EXPECT_EQ(worst_overshoot(policy(AlgorithmKind::fixed_window), at).lasting, 0) << "it is not asked";
}

TEST(Overshoot, OfAProcessThatCountsByItself) {
  StoreOptions memory;
  EXPECT_EQ(worst_overshoot(policy(AlgorithmKind::gcra), {.store = memory}).permits, 0);
  EXPECT_EQ(worst_overshoot(policy(AlgorithmKind::gcra), {.store = memory}).counted, Counted::in_process);
  memory.instances = 3;
  EXPECT_EQ(worst_overshoot(policy(AlgorithmKind::gcra), {.store = memory}).permits, 600);
  const StoreOptions options = redis();
  Policy guard = policy(AlgorithmKind::gcra);
  guard.scope = limit::Scope::instance;
  const Circumstances ill{.store = options, .instances = 3, .health = StoreHealth::brief};
  EXPECT_EQ(worst_overshoot(guard, ill).counted, Counted::in_process);
  EXPECT_EQ(worst_overshoot(guard, ill).permits, 0);
}

TEST(Overshoot, WhatRefusesNobodyHasNoBound) {
  const StoreOptions options = redis();
  Policy each = policy(AlgorithmKind::gcra);
  each.enforce_percent = 50;
  EXPECT_EQ(worst_overshoot(each, {.store = options}).permits, std::nullopt);
  each = policy(AlgorithmKind::gcra);
  each.enforcement = limit::Enforcement::shadow;
  const Overshoot worst = worst_overshoot(each, {.store = options, .memory = StoreMemory::lost});
  EXPECT_EQ(worst.permits, std::nullopt);
  EXPECT_EQ(worst.counted, Counted::leased);
}

}  // namespace
}  // namespace weir::store
