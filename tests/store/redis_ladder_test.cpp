// SPDX-License-Identifier: Apache-2.0
// What each layer says while the shared store is ill, and how the store is left alone and found again.
#include <gtest/gtest.h>

#include "store/moody_store.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Answered;
using limit::ChargeSet;
using limit::FailureMode;
using redis::ErrorKind;

TEST_F(LadderTest, AHealthyStoreIsLeftAlone) {
  make(4);
  const limit::Policy one = local(100);
  ChargeSet set;
  add_layer(set, one, "k");
  decide(set);
  EXPECT_EQ(set.charge[0].answered, Answered::store);
  EXPECT_EQ(set.charge[0].verdict.remaining, 77);
  EXPECT_EQ(store_->stats().health, StoreHealth::healthy);
  EXPECT_EQ(memory_.live_keys(), 0U);
}

TEST_F(LadderTest, LocalCountsTheShareOfThisInstance) {
  make(3);
  break_store();
  const limit::Policy one = local(100);
  int passed = 0;
  for (int n = 0; n < 100; ++n) {
    ChargeSet set;
    add_layer(set, one, "k");
    decide(set);
    EXPECT_EQ(set.charge[0].answered, Answered::local);
    EXPECT_EQ(set.charge[0].verdict.limit, 100) << "the policy's, not the share";
    passed += set.charge[0].verdict.within_limit ? 1 : 0;
  }
  EXPECT_EQ(passed, 40) << "a third, and a fifth more";
  EXPECT_EQ(store_->stats().local, 100U);
  EXPECT_EQ(store_->stats().last_error, static_cast<int>(ErrorKind::timeout));
}

TEST_F(LadderTest, AShareIsNeverBelowOneNorBelowTheCost) {
  make(1000);
  break_store();
  const limit::Policy one = local(100);
  ChargeSet set;
  add_layer(set, one, "k");
  decide(set);
  EXPECT_TRUE(set.charge[0].verdict.within_limit);
  decide(set);
  EXPECT_FALSE(set.charge[0].verdict.within_limit);
  ChargeSet heavy;
  add_layer(heavy, one, "other", 40);
  decide(heavy);
  EXPECT_TRUE(heavy.charge[0].verdict.within_limit);
  ChargeSet too_heavy;
  add_layer(too_heavy, one, "third", 101);
  decide(too_heavy);
  EXPECT_EQ(too_heavy.charge[0].verdict.retry_after_ms, limit::kNever);
}

TEST_F(LadderTest, LocalCountersMeetNoInstanceCounterOfTheSameName) {
  make(1);
  const limit::Policy one = local(10);
  ChargeSet direct;
  add_layer(direct, one, "k", 10);
  memory_.decide_now(direct);
  break_store();
  ChargeSet set;
  add_layer(set, one, "k");
  decide(set);
  EXPECT_EQ(set.charge[0].verdict.remaining, 9);
}

TEST_F(LadderTest, AllowPassesUncountedAndDenyRefuses) {
  make(1);
  break_store();
  const limit::Policy open = policy(AlgorithmKind::gcra, 10, FailureMode::allow, FailureMode::local);
  const limit::Policy shut = policy(AlgorithmKind::gcra, 10, FailureMode::deny, FailureMode::local);
  ChargeSet set;
  add_layer(set, open, "a");
  decide(set);
  EXPECT_EQ(set.charge[0].answered, Answered::failed_open);
  EXPECT_TRUE(set.charge[0].verdict.within_limit);
  EXPECT_FALSE(set.charge[0].charged);
  EXPECT_EQ(limit::conclude(set).outcome, limit::Outcome::allowed);
  add_layer(set, shut, "b");
  decide(set);
  EXPECT_EQ(set.charge[1].answered, Answered::failed_shut);
  EXPECT_EQ(limit::conclude(set).outcome, limit::Outcome::store_down);
  EXPECT_GT(limit::conclude(set).retry_after_ms, 0);
}

TEST_F(LadderTest, ADeniedRequestChargesNobody) {
  make(1);
  break_store();
  const limit::Policy here = local(10);
  const limit::Policy shut = policy(AlgorithmKind::gcra, 10, FailureMode::deny, FailureMode::deny);
  for (int n = 0; n < 5; ++n) {
    ChargeSet set;
    add_layer(set, here, "a");
    add_layer(set, shut, "b");
    decide(set);
    EXPECT_EQ(set.charge[0].verdict.remaining, 10);
    EXPECT_FALSE(set.charge[0].charged);
  }
  // A shadow layer denies nobody.
  ChargeSet set;
  add_layer(set, here, "a");
  add_layer(set, shut, "b").enforcement = limit::Enforcement::shadow;
  decide(set);
  EXPECT_EQ(set.charge[0].verdict.remaining, 9);
  EXPECT_EQ(limit::conclude(set).outcome, limit::Outcome::allowed);
}

TEST_F(LadderTest, LocalLayersAreAllOrNone) {
  make(1);
  break_store();
  const limit::Policy wide = local(10);
  const limit::Policy tight = local(1);
  for (int n = 0; n < 5; ++n) {
    ChargeSet set;
    add_layer(set, wide, "wide");
    add_layer(set, tight, "tight");
    decide(set);
    EXPECT_EQ(set.charge[0].verdict.remaining, 9) << "refused requests cost nothing";
    EXPECT_EQ(set.charge[0].charged, n == 0);
  }
}

TEST_F(LadderTest, ABriefFailureBecomesALongOneAndEndsWithASuccess) {
  make(1);
  break_store();
  const limit::Policy one = policy(AlgorithmKind::gcra, 10, FailureMode::allow, FailureMode::deny);
  const auto answered = [&] {
    ChargeSet set;
    add_layer(set, one, "k");
    decide(set);
    return set.charge[0].answered;
  };
  EXPECT_EQ(answered(), Answered::failed_open);
  EXPECT_EQ(store_->stats().health, StoreHealth::brief);
  clock_.advance(59'999);
  EXPECT_EQ(answered(), Answered::failed_open);
  clock_.advance(1);
  EXPECT_EQ(answered(), Answered::failed_shut);
  EXPECT_EQ(store_->stats().health, StoreHealth::long_failure);
  shared_.mood = {};
  clock_.advance(5000);
  EXPECT_EQ(answered(), Answered::failed_shut) << "sends a probe on its way";
  EXPECT_EQ(answered(), Answered::store);
  EXPECT_EQ(store_->stats().health, StoreHealth::healthy);
  EXPECT_EQ(store_->stats().failing_since_ms, 0);
  break_store();
  EXPECT_EQ(answered(), Answered::failed_open) << "a new failure is brief again";
}

TEST_F(LadderTest, ADeadStoreIsSparedButProbed) {
  make(1);
  break_store();
  const limit::Policy one = local(1000);
  for (int n = 0; n < 500; ++n) {
    ChargeSet set;
    add_layer(set, one, "k");
    decide(set);
  }
  EXPECT_EQ(shared_.calls, 3);
  EXPECT_TRUE(store_->stats().breaker_open);
  for (int n = 0; n < 60'000; n += 10) {
    ChargeSet set;
    add_layer(set, one, "k");
    decide(set);
    clock_.advance(10);
  }
  EXPECT_LT(shared_.calls, 75) << "pauses grow to two seconds";
  EXPECT_GT(shared_.calls, 30);
  EXPECT_EQ(store_->stats().probes, static_cast<std::uint64_t>(shared_.calls - 3));
  shared_.mood = {};
  clock_.advance(2000);
  ChargeSet set;
  add_layer(set, one, "k");
  decide(set);
  EXPECT_EQ(set.charge[0].answered, Answered::local) << "no request waits for a probe";
  EXPECT_FALSE(store_->stats().breaker_open);
  decide(set);
  EXPECT_EQ(set.charge[0].answered, Answered::store);
}

TEST_F(LadderTest, ABugIsAnsweredHereButOpensNothing) {
  make(1);
  break_store(ErrorKind::wrong_type);
  const limit::Policy one = local(1000);
  for (int n = 0; n < 50; ++n) {
    ChargeSet set;
    add_layer(set, one, "k");
    decide(set);
    EXPECT_EQ(set.charge[0].answered, Answered::local);
  }
  EXPECT_EQ(shared_.calls, 50);
  EXPECT_EQ(store_->stats().failures, 50U);
  EXPECT_EQ(store_->stats().health, StoreHealth::healthy);
}

TEST_F(LadderTest, WhatWasCountedHereIsSettledAndReleasedHere) {
  make(1);
  break_store();
  const limit::Policy bucket = local(10);
  const limit::Policy slots = local(10, AlgorithmKind::concurrency);
  ChargeSet set;
  add_layer(set, bucket, "b");
  add_layer(set, slots, "s");
  decide(set);
  EXPECT_EQ(set.charge[1].verdict.remaining, 9);
  store_->settle(set, 4);
  store_->renew(set);
  store_->release(set);
  EXPECT_EQ(shared_.settled + shared_.released, 0);
  ChargeSet after;
  add_layer(after, bucket, "b");
  add_layer(after, slots, "s");
  boost::asio::io_context loop;
  test::await(loop, store_->peek(after));
  EXPECT_EQ(after.charge[0].verdict.remaining, 5);
  EXPECT_EQ(after.charge[1].verdict.remaining, 10);

  shared_.mood = {};
  clock_.advance(10'000);
  ChargeSet shared_set;
  add_layer(shared_set, bucket, "b");
  decide(shared_set);
  store_->settle(shared_set, 1);
  store_->release(shared_set);
  EXPECT_EQ(shared_.settled, 1);
  EXPECT_EQ(shared_.released, 1);
}

}  // namespace
}  // namespace weir::store
