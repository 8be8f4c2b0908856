// SPDX-License-Identifier: Apache-2.0
// lease.debt: a few pass ahead of the lease that is on its way, and never more than the debt beyond the
// limit.
#include <gtest/gtest.h>

#include "store/lease_fleet.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Policy;

constexpr std::int64_t kLimit = 2'000;
constexpr std::int64_t kWindow = 600'000;
constexpr std::int64_t kDebt = 50;  // per mille: 100 permits, 50 for each of two gateways

class OnCredit : public testing::TestWithParam<AlgorithmKind> {
 protected:
  // How many of `times` requests pass without waiting for the store.
  static std::int64_t ask(LeaseFleet& fleet, std::size_t gateway, const Policy& policy, int times) {
    std::int64_t passed = 0;
    for (int n = 0; n < times; ++n) {
      limit::ChargeSet set;
      add_layer(set, policy, "k");
      const bool decided = fleet.leases(gateway).decide_now(set);
      passed += decided && limit::conclude(set).allowed() ? 1 : 0;
    }
    return passed;
  }
  // Hot, with nothing left at hand and the answer that brings the next lease on its way.
  static void use_up(LeaseFleet& fleet, std::size_t gateway, const Policy& policy) {
    fleet.slow_down(gateway);
    while (fleet.pool(gateway).held() > 0) ASSERT_EQ(ask(fleet, gateway, policy, 1), 1);
  }
};

TEST_P(OnCredit, AFewPassWithoutWaitingAndAreCharged) {
  LeaseFleet fleet(2, Counting::automatic, kDebt);
  const Policy policy = policy_of(GetParam(), kLimit, kWindow);
  drive(fleet, 2, policy, "k", 2'000, 300, 12);
  for (const std::size_t gateway : {0, 1}) {
    use_up(fleet, gateway, policy);
    const std::int64_t passed = ask(fleet, gateway, policy, 60);
    EXPECT_GT(passed, 10);
    EXPECT_LE(passed, kLimit * kDebt / 1000 / 2);
    fleet.poll();
    const std::int64_t used = fleet.used("k");
    fleet.hurry(gateway);
    EXPECT_EQ(fleet.used("k"), used + passed) << "charged as soon as the lease has come";
    EXPECT_EQ(fleet.pool(gateway).stats().debt, static_cast<std::uint64_t>(passed));
  }
}

TEST_P(OnCredit, NothingPassesWithoutADebt) {
  LeaseFleet fleet(2);
  const Policy policy = policy_of(GetParam(), kLimit, kWindow);
  drive(fleet, 2, policy, "k", 2'000, 300, 12);
  use_up(fleet, 0, policy);
  EXPECT_EQ(ask(fleet, 0, policy, 60), 0);
  fleet.hurry(0);
}

TEST_P(OnCredit, NothingPassesOfALimitThatIsUsedUp) {
  LeaseFleet fleet(2, Counting::automatic, kDebt);
  const Policy policy = policy_of(GetParam(), kLimit, kWindow);
  while (fleet.request(0, policy, "k", 50)) fleet.advance(1);
  for (int ms = 0; ms < 1'500; ++ms) {  // hot, and never granted anything
    EXPECT_FALSE(fleet.request(1, policy, "k", 20));
    fleet.advance(1);
  }
  for (int ms = 0; ms < 1'200; ++ms) fleet.advance(1);  // what is known of the refusal is over
  limit::ChargeSet first;
  add_layer(first, policy, "k", 20);
  fleet.slow_down(1);
  fleet.begin(1, first);
  EXPECT_EQ(ask(fleet, 1, policy, 60), 0);
  EXPECT_EQ(fleet.pool(1).stats().debt, 0U);
  fleet.hurry(1);
}

TEST_P(OnCredit, IsAPartOfTheDebtOnceTheFleetIsCounted) {
  LeaseOptions options;
  options.debt_permille = kDebt;
  EXPECT_EQ(credit(policy_of(GetParam(), kLimit, kWindow).terms, options, 1'000, 0), 0);
  EXPECT_EQ(credit(policy_of(GetParam(), kLimit, kWindow).terms, options, 1'000, 2), 21);
  EXPECT_EQ(credit(policy_of(GetParam(), kLimit, kWindow).terms, options, 1'000'000, 2), 50);
  EXPECT_EQ(credit(policy_of(GetParam(), 10, kWindow).terms, options, 1'000, 2), 0) << "of ten no twentieth";
}

TEST_P(OnCredit, TheLimitIsExceededByTheDebtAtMost) {
  LeaseFleet fleet(2, Counting::automatic, kDebt);
  const Policy policy = policy_of(GetParam(), kLimit, kWindow);
  std::int64_t allowed = drive(fleet, 2, policy, "k", 2'000, 300, 13).allowed;
  std::uint64_t on_credit = 0;
  for (std::size_t round = 0; round < 60; ++round) {
    const std::size_t slow = round % 2;
    fleet.slow_down(slow);
    for (int ms = 0; ms < 30; ++ms) {
      allowed += ask(fleet, slow, policy, 1);
      allowed += fleet.request(1 - slow, policy, "k") ? 1 : 0;
      fleet.advance(1);
    }
    fleet.hurry(slow);
  }
  for (const std::size_t gateway : {0, 1}) on_credit += fleet.pool(gateway).stats().debt;
  const bool refills = GetParam() == AlgorithmKind::token_bucket || GetParam() == AlgorithmKind::gcra;
  const std::int64_t refilled = refills ? kLimit * 2'200 / kWindow + 1 : 0;
  EXPECT_GT(on_credit, 0);
  EXPECT_LE(allowed, kLimit + refilled + kLimit * kDebt / 1000);
  EXPECT_GE(allowed, kLimit * 94 / 100);
}

INSTANTIATE_TEST_SUITE_P(each, OnCredit, testing::ValuesIn(kLeased),
                         [](const auto& each) { return std::string(limit::name_of(each.param)); });

}  // namespace
}  // namespace weir::store
