// SPDX-License-Identifier: Apache-2.0
// The parts of the ladder: shares, scaled terms, the ledger of what was used.
#include <gtest/gtest.h>

#include "store/fleet_share.hpp"
#include "store/ladder_ledger.hpp"
#include "store/ladder_share.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Charge;
using limit::Policy;
using limit::Terms;

Terms terms(AlgorithmKind kind, std::int64_t limit, std::int64_t window_ms) {
  return {kind, limit, window_ms, limit, 0, 10, false};
}

// The rate of all instances together is 1.2 times the limit, however small the limit and however many they
// are.
TEST(ScaledTerms, KeepTheRateExactly) {
  for (const auto kind :
       {AlgorithmKind::token_bucket, AlgorithmKind::fixed_window, AlgorithmKind::sliding_log}) {
    for (const std::int64_t limit : {1, 3, 10, 1000}) {
      for (const int instances : {2, 5, 7, 64}) {
        const Terms local = scaled(terms(kind, limit, 1000), local_factor(1.0 / instances, false), 1);
        EXPECT_GE(local.limit, 1);
        EXPECT_GE(local.window_ms, 1000);
        const double rate =
            instances * static_cast<double>(local.limit) * 1000.0 / static_cast<double>(local.window_ms);
        const double wanted = static_cast<double>(limit) * std::min(1.2, static_cast<double>(instances));
        EXPECT_LE(rate, wanted * 1.0001) << limit << " over " << instances;
        EXPECT_GE(rate, wanted * 0.98) << limit << " over " << instances;
      }
    }
  }
}

TEST(ScaledTerms, ALoneInstanceHasTheLimitAndNoMore) {
  EXPECT_EQ(scaled(terms(AlgorithmKind::gcra, 100, 60'000), local_factor(1.0, true), 1),
            terms(AlgorithmKind::gcra, 100, 60'000));
}

TEST(ScaledTerms, WhatCannotBeStretchedIsRoundedUp) {
  Terms day = terms(AlgorithmKind::fixed_window, 3, 86'400'000);
  day.calendar = true;
  EXPECT_EQ(scaled(day, 0.24, 1).window_ms, day.window_ms);
  EXPECT_EQ(scaled(day, 0.24, 1).limit, 1);
  EXPECT_EQ(scaled(terms(AlgorithmKind::concurrency, 10, 5000), 0.24, 1).limit, 3);
}

TEST(ScaledTerms, LearnedFactorsAreFew) {
  EXPECT_EQ(local_factor(0.4000, true), local_factor(0.4010, true));
  EXPECT_LE(local_factor(0.4, true), 0.48);
  EXPECT_GE(local_factor(0.4, true), 0.44);
}

TEST(UseTable, TellsWhatCameSinceTheLastTime) {
  UseTable table;
  table.note(counter_id("a"), 3);
  table.note(counter_id("a"), 2);
  table.note(counter_id("b"), 1);
  std::vector<UseTable::Use> uses;
  table.collect(uses);
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].permits + uses[1].permits, 6);
  uses.clear();
  table.note(counter_id("b"), 4);
  table.collect(uses);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].counter, counter_id("b"));
  EXPECT_EQ(uses[0].permits, 4);
}

TEST(UseTable, AHotCounterGetsIntoAFullTable) {
  UseTable table;
  for (int n = 0; n < 100'000; ++n) table.note(counter_id("cold" + std::to_string(n)), 1);
  for (int n = 0; n < 1000; ++n) table.note(counter_id("hot"), 1);
  std::vector<UseTable::Use> uses;
  table.collect(uses);
  EXPECT_LE(uses.size(), 2048U);
  const auto hot = std::find_if(uses.begin(), uses.end(),
                                [](const auto& use) { return use.counter == counter_id("hot"); });
  ASSERT_NE(hot, uses.end());
  EXPECT_GT(hot->permits, 900);
}

TEST(FleetShare, SharesAreThoseOfThisEpochAndTheOneBefore) {
  FleetShare fleet(1, 3);
  const CounterId key = counter_id("k");
  EXPECT_DOUBLE_EQ(fleet.shares()->share(key), 1.0 / 3);
  const auto beat = [&](std::int64_t epoch, std::int64_t mine, std::int64_t all) {
    const UseTable::Use posted[] = {{key, mine}};
    const std::int64_t whole[] = {all};
    fleet.learn(4, epoch, posted, whole);
    return fleet.shares()->share(key);
  };
  EXPECT_DOUBLE_EQ(beat(10, 20, 80), 0.25);
  EXPECT_DOUBLE_EQ(beat(10, 20, 80), 0.5);
  EXPECT_DOUBLE_EQ(beat(11, 10, 100), 0.5);
  EXPECT_DOUBLE_EQ(beat(12, 30, 400), 0.1) << "what was two epochs ago is forgotten";
  EXPECT_DOUBLE_EQ(beat(12, 30, 10), 1.0) << "a store that forgot";
  EXPECT_EQ(fleet.heard(), 4U);
  EXPECT_DOUBLE_EQ(fleet.shares()->share(counter_id("unseen")), 0.25);
}

class LedgerTest : public ::testing::Test {
 protected:
  void note(AlgorithmKind kind, std::int64_t permits, std::int64_t now_ms) {
    policy_.terms = terms(kind, 60, 60'000);
    Charge charge;
    charge.policy = &policy_;
    charge.key = "k";
    ledger_.note(charge, permits, now_ms);
  }
  std::int64_t owed(std::int64_t now_ms) {
    const auto debts = ledger_.take(now_ms, [](std::string_view) { return true; });
    return debts.empty() ? 0 : debts.front().permits;
  }
  Policy policy_;
  LadderLedger ledger_;
  static constexpr std::int64_t kStart = 60'000 * 1000;
};

TEST_F(LedgerTest, AWindowThatIsOverOwesNothing) {
  note(AlgorithmKind::fixed_window, 7, kStart);
  note(AlgorithmKind::fixed_window, 2, kStart + 59'999);
  EXPECT_EQ(owed(kStart + 59'999), 9);
  note(AlgorithmKind::fixed_window, 7, kStart);
  EXPECT_EQ(owed(kStart + 60'000), 0);
}

TEST_F(LedgerTest, ARollingWindowOwesWhatItStillHolds) {
  for (int second = 0; second < 300; ++second) note(AlgorithmKind::sliding_window, 1, kStart + second * 1000);
  const std::int64_t left = owed(kStart + 300'000);
  EXPECT_LE(left, 60);
  EXPECT_GE(left, 40);
}

TEST_F(LedgerTest, ABucketOwesWhatItHasNotRefilled) {
  note(AlgorithmKind::token_bucket, 50, kStart);
  note(AlgorithmKind::token_bucket, 10, kStart + 20'000);
  EXPECT_EQ(owed(kStart + 30'000), 30);
  note(AlgorithmKind::gcra, 50, kStart);
  EXPECT_EQ(owed(kStart + 3'600'000), 0);
}

TEST_F(LedgerTest, WhatIsNotBackYetStaysOwed) {
  note(AlgorithmKind::fixed_window, 7, kStart);
  EXPECT_TRUE(ledger_.take(kStart, [](std::string_view) { return false; }).empty());
  EXPECT_EQ(owed(kStart), 7);
  note(AlgorithmKind::fixed_window, 7, kStart);
  EXPECT_TRUE(ledger_.take(kStart + 60'000, [](std::string_view) { return false; }).empty());
  EXPECT_EQ(ledger_.size(), 0U) << "its window is over, whether its node is back or not";
}

TEST_F(LedgerTest, IsBounded) {
  policy_.terms = terms(AlgorithmKind::gcra, 60, 60'000);
  Charge charge;
  charge.policy = &policy_;
  for (int n = 0; n < 10'000; ++n) {
    const std::string key = "k" + std::to_string(n);
    charge.key = key;
    ledger_.note(charge, 2, kStart);
  }
  EXPECT_EQ(ledger_.size(), 4096U);
  EXPECT_EQ(ledger_.forgiven(), 2U * (10'000 - 4096));
}

}  // namespace
}  // namespace weir::store
