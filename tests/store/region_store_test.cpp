// SPDX-License-Identifier: Apache-2.0
// Chains whose layers are counted in two places: who is asked first, and what a refusal costs the other.
#include "store/region_store.hpp"

#include <gtest/gtest.h>

#include "store/lease_fleet.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::ChargeSet;
using limit::Policy;

Policy fixed(std::int64_t limit, limit::Scope scope = limit::Scope::fleet) {
  Policy policy = policy_of(AlgorithmKind::fixed_window, limit, 3'600'000);
  policy.layer = limit::name_of(scope);
  policy.scope = scope;
  return policy;
}

// A region and its parent, each a memory store behind a wire that is counted.
class RegionTest : public testing::Test {
 protected:
  RegionTest() {
    LeaseOptions options;
    options.counting = Counting::leased;
    options.max_age = std::chrono::seconds(10);
    options.requests = 100;
    pool_ = std::make_unique<LeasePool>(options);
    leases_ = std::make_unique<LeaseStore>(loop_.get_executor(), *pool_, parent_wire_, clock_);
    store_ = std::make_unique<RegionStore>(region_wire_, *leases_);
  }
  ~RegionTest() override {
    leases_->close();
    poll();
  }

  // One request of a user (region) and a caller (global); true: allowed.
  bool request(const Policy& user, const Policy& caller) {
    ChargeSet set;
    add_layer(set, caller, "caller");
    add_layer(set, user, "user");
    if (!store_->decide_now(set)) boost::asio::co_spawn(loop_, store_->decide(set), boost::asio::detached);
    poll();
    EXPECT_FALSE(set.store_error);
    return limit::conclude(set).allowed();
  }
  int requests(int count, const Policy& user, const Policy& caller) {
    int allowed = 0;
    for (int n = 0; n < count; ++n) {
      allowed += request(user, caller) ? 1 : 0;
      clock_.advance(10);
      leases_->sweep();
      poll();
    }
    return allowed;
  }
  void poll() {
    loop_.restart();
    loop_.poll();
  }
  static std::int64_t used(MemoryStore& store, std::string_view key) {
    const auto standing = store.standing(key);
    return standing ? standing->used : 0;
  }
  // After all that is held went back.
  std::int64_t used_of_the_parent() {
    leases_->drain();
    poll();
    return used(parent_, "caller");
  }

  FakeClock clock_;
  boost::asio::io_context loop_;
  MemoryStore region_{1000, clock_}, parent_{1000, clock_};
  CountingStore region_wire_{region_, loop_}, parent_wire_{parent_, loop_};
  std::unique_ptr<LeasePool> pool_;
  std::unique_ptr<LeaseStore> leases_;
  std::unique_ptr<RegionStore> store_;
  const Policy wide_ = fixed(100'000);
  const Policy wide_global_ = fixed(100'000, limit::Scope::global);
};

TEST_F(RegionTest, BothAreChargedAndTheParentIsSeldomAsked) {
  EXPECT_EQ(requests(1000, wide_, wide_global_), 1000);
  EXPECT_EQ(region_wire_.calls, 1000);
  EXPECT_LE(parent_wire_.calls, 100);
  EXPECT_GT(store_->stats().at_hand.load(), 900U);
  EXPECT_EQ(used(region_, "user"), 1000);
  EXPECT_EQ(used_of_the_parent(), 1000);
}

TEST_F(RegionTest, TheParentsLimitIsExact) {
  const Policy narrow = fixed(300, limit::Scope::global);
  EXPECT_EQ(requests(1000, wide_, narrow), 300);
  EXPECT_EQ(used_of_the_parent(), 300);
}

TEST_F(RegionTest, AKnownRefusalOfTheParentAsksNobody) {
  const Policy narrow = fixed(300, limit::Scope::global);
  requests(500, wide_, narrow);
  const int before = region_wire_.calls;
  EXPECT_FALSE(request(wide_, narrow));
  EXPECT_EQ(region_wire_.calls, before);
}

TEST_F(RegionTest, ARefusalOfTheRegionCostsTheParentNothing) {
  const Policy narrow = fixed(200);
  EXPECT_EQ(requests(1000, narrow, wide_global_), 200);
  EXPECT_EQ(used_of_the_parent(), 200);
  EXPECT_EQ(store_->stats().wasted.load(), 0U);
}

TEST_F(RegionTest, WhatAnAskedParentRefusesIsWastedInTheRegionAndCounted) {
  const Policy none_left = fixed(1, limit::Scope::global);
  EXPECT_TRUE(request(wide_, none_left));
  clock_.advance(5000);  // the refusal is not known any more
  EXPECT_FALSE(request(wide_, none_left));
  EXPECT_EQ(store_->stats().wasted.load(), 1U);
  EXPECT_EQ(used(region_, "user"), 2);
}

TEST_F(RegionTest, SlotsOfTheRegionAreReleasedWhenTheParentRefuses) {
  Policy slots = policy_of(AlgorithmKind::concurrency, 2, 60'000);
  const Policy none_left = fixed(1, limit::Scope::global);
  EXPECT_TRUE(request(wide_, none_left));
  for (int n = 0; n < 5; ++n) {
    clock_.advance(5000);
    EXPECT_FALSE(request(slots, none_left));
  }
  EXPECT_EQ(used(region_, "user"), 0);
}

TEST_F(RegionTest, SetsOfOneKindGoStraightThrough) {
  ChargeSet near, far;
  add_layer(near, wide_, "user");
  add_layer(far, wide_global_, "caller");
  for (ChargeSet* const set : {&near, &far}) {
    EXPECT_FALSE(store_->decide_now(*set));
    boost::asio::co_spawn(loop_, store_->decide(*set), boost::asio::detached);
    poll();
    EXPECT_TRUE(set->charge[0].charged);
  }
  EXPECT_EQ(region_wire_.calls, 1);
  EXPECT_EQ(parent_wire_.calls, 1);
  store_->settle(far, 4);
  EXPECT_EQ(used(parent_, "caller"), 5);
  EXPECT_EQ(used(region_, "user"), 1);
}

}  // namespace
}  // namespace weir::store
