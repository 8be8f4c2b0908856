// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "store/debt_sketch.hpp"

namespace weir::store {
namespace {

Hash128 any_key(std::mt19937_64& random) {
  return {random(), random()};
}

TEST(DebtSketch, an_unknown_key_owes_nothing) {
  std::mt19937_64 random(1);
  const DebtSketch sketch(1000);
  EXPECT_EQ(sketch.of(any_key(random), 5000).used, 0);
}

TEST(DebtSketch, never_answers_less_than_was_noted) {
  std::mt19937_64 random(2);
  DebtSketch sketch(1000);
  struct Noted {
    Hash128 key;
    limit::Debt debt;
  };
  std::vector<Noted> all;
  for (int n = 0; n < 5000; ++n) {
    const auto used = static_cast<std::int64_t>(random() >> (13 + random() % 50)) + 1;
    all.push_back({any_key(random), {used, 1000 + static_cast<std::int64_t>(random() % 10'000'000'000)}});
    sketch.add(all.back().key, all.back().debt, 1000);
  }
  for (const Noted& each : all) {
    const limit::Debt debt = sketch.of(each.key, 1000);
    EXPECT_GE(debt.used, each.debt.used);
    EXPECT_GE(debt.until_ms, each.debt.until_ms);
  }
}

TEST(DebtSketch, rounds_up_by_very_little) {
  std::mt19937_64 random(3);
  for (const std::int64_t used :
       {1LL, 7LL, 2'097'151LL, 2'097'152LL, 2'097'153LL, 123'456'789'012LL, 1LL << 51}) {
    DebtSketch sketch(64);
    const Hash128 key = any_key(random);
    sketch.add(key, {used, 70'001}, 10);
    const limit::Debt debt = sketch.of(key, 10);
    EXPECT_GE(debt.used, used);
    EXPECT_LE(debt.used, used + used / 1'000'000);
    EXPECT_GE(debt.until_ms, 70'001);
    EXPECT_LT(debt.until_ms, 70'001 + 64);
  }
}

TEST(DebtSketch, a_debt_ends) {
  std::mt19937_64 random(4);
  DebtSketch sketch(64);
  const Hash128 key = any_key(random);
  sketch.add(key, {5, 6400}, 0);
  EXPECT_EQ(sketch.of(key, 6399).used, 5);
  EXPECT_EQ(sketch.of(key, 6400).used, 0);
  sketch.add(key, {2, 12'800}, 7000);
  EXPECT_EQ(sketch.of(key, 7000).used, 2) << "an ended debt is replaced, not kept as the larger one";
}

TEST(DebtSketch, few_strangers_pay_for_others) {
  std::mt19937_64 random(5);
  DebtSketch sketch(10'000);
  for (int n = 0; n < 2000; ++n) sketch.add(any_key(random), {10, 100'000}, 0);
  int wronged = 0;
  for (int n = 0; n < 10'000; ++n) wronged += sketch.of(any_key(random), 0).used > 0 ? 1 : 0;
  EXPECT_LT(wronged, 100);  // 2000 of 8192 cells in each of 4 rows: some 0.2 %
}

}  // namespace
}  // namespace weir::store
