// SPDX-License-Identifier: Apache-2.0
// What a region makes of its parent's answer.
#include "store/pool_word.hpp"

#include <gtest/gtest.h>

#include "store/redis_world.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;

class PoolWordTest : public testing::Test {
 protected:
  PoolWordTest() {
    options_.counting = Counting::leased;
    options_.max_age = std::chrono::seconds(10);
    options_.requests = 1000;
    order_.asked_ms = 5'000'000;
    order_.rate = 50;
    charge_.policy = &policy_;
    charge_.request.now_ms = 900'000'000;
    charge_.request.cost = 1;
    charge_.charged = true;
    charge_.verdict = {.within_limit = true, .limit = 6000, .remaining = 4000, .reset_ms = 4000};
    charge_.lease = &lease_;
  }
  void use(AlgorithmKind kind) {
    policy_ = policy_of(kind, 6000);
    lease_ = lease_of(policy_.terms, options_, order_);
    lease_.granted = 400;
  }
  PoolWord word() const { return word_of(charge_, options_, order_); }

  LeaseOptions options_;
  PoolOrder order_;
  limit::Policy policy_;
  limit::Lease lease_;
  limit::Charge charge_;
};

TEST_F(PoolWordTest, ALeaseIsForWhatTheRegionAsksForInItsTime) {
  use(AlgorithmKind::fixed_window);
  EXPECT_EQ(lease_.more, 500);
  EXPECT_EQ(lease_.life_ms, 10'000);
  order_.left_ms = 2000;
  EXPECT_EQ(lease_of(policy_.terms, options_, order_).more, 100);
}

TEST_F(PoolWordTest, WhoAsksRarelyLeasesNothingAndStillReports) {
  order_.rate = 1;
  use(AlgorithmKind::token_bucket);
  EXPECT_EQ(lease_.more, 0);
  EXPECT_FALSE(asks_anything(lease_));
  order_.spent[0] = {3, 1};
  use(AlgorithmKind::token_bucket);
  EXPECT_TRUE(asks_anything(lease_));
  EXPECT_GT(lease_.life_ms, 0);
}

TEST_F(PoolWordTest, ABatchEndsWithItsWindow) {
  use(AlgorithmKind::fixed_window);
  const PoolWord found = word();
  EXPECT_EQ(found.permits, 400);
  EXPECT_EQ(found.at_ms, 900'000'000);
  EXPECT_EQ(found.ends_ms, 5'000'000 + 4000 - kLeaseGuardMs);
  EXPECT_EQ(found.tag_ends_ms, 5'000'000 + 4000);
  EXPECT_EQ(found.worth, 0) << "nobody gets anything back of a window that is over";
  EXPECT_EQ(found.seen.used, 2000);
  EXPECT_EQ(found.seen.ends_ms, 900'000'000 + 4000);
}

TEST_F(PoolWordTest, OrWhenItsTimeIsOver) {
  use(AlgorithmKind::fixed_window);
  charge_.verdict.reset_ms = 50'000;
  EXPECT_EQ(word().ends_ms, 5'000'000 + 10'000 - kLeaseGuardMs);
  EXPECT_EQ(word().worth, 1);
  use(AlgorithmKind::gcra);
  EXPECT_EQ(word().ends_ms, 5'000'000 + 10'000 - kLeaseGuardMs);
  EXPECT_EQ(word().tag_ends_ms, 0);
  EXPECT_EQ(word().seen.ends_ms, 0);
}

TEST_F(PoolWordTest, OrWithItsCell) {
  use(AlgorithmKind::sliding_window);  // cells of 6 s
  charge_.request.now_ms = 6000 * 1000 + 4500;
  EXPECT_EQ(word().ends_ms, 5'000'000 + 1500 - kLeaseGuardMs);
  EXPECT_EQ(word().worth, 1);
}

TEST_F(PoolWordTest, ARefusalSaysWhenItIsWorthToAskAgain) {
  use(AlgorithmKind::fixed_window);
  lease_.granted = 0;
  charge_.charged = false;
  charge_.verdict = {.within_limit = false, .limit = 6000, .remaining = 0, .retry_after_ms = 7000};
  EXPECT_EQ(word().deny_ms, 7000);
  EXPECT_EQ(word().deny_cost, 1);
  EXPECT_EQ(word().permits, 0);
  // The last permits were taken: nobody needs to ask for the next before it is there.
  charge_.verdict = {.within_limit = true, .limit = 6000, .remaining = 0, .reset_ms = 7000};
  charge_.charged = true;
  lease_.next_ms = 7000;
  EXPECT_EQ(word().deny_ms, 7000);
}

TEST_F(PoolWordTest, HowFastAllRegionsSpendIsToldByWhatIsLeft) {
  order_.age_ms = 2000;
  order_.tag_ms = 6000;
  order_.remaining = 4200;
  use(AlgorithmKind::fixed_window);
  EXPECT_DOUBLE_EQ(word().fleet_rate, 100);
  order_.tag_ms = 1000;
  EXPECT_DOUBLE_EQ(word().fleet_rate, 0) << "that was another window";
}

}  // namespace
}  // namespace weir::store
