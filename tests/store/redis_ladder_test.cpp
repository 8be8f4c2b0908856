// SPDX-License-Identifier: Apache-2.0
// What each layer says while the shared store is ill, and how the store is left alone and found again.
#include <gtest/gtest.h>

#include "store/fake_clock.hpp"
#include "store/ladder_store.hpp"
#include "store/memory_store.hpp"
#include "store/redis_world.hpp"
#include "support/redis_server.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Answered;
using limit::ChargeSet;
using limit::FailureMode;
using redis::ErrorKind;

// A shared store that fails as told; otherwise every layer passes.
class MoodyStore final : public limit::CounterStore {
 public:
  explicit MoodyStore(const Clock& clock) : clock_(clock) {}

  error_code mood;
  int calls = 0;
  int settled = 0;
  std::int64_t handed_in = 0;
  int released = 0;

  bool decide_now(ChargeSet&) override { return false; }
  boost::asio::awaitable<void> decide(ChargeSet& set) override {
    ++calls;
    set.store_error = mood;
    set.store_now_ms = clock_.monotonic_ms();
    for (limit::Charge& charge : set.charges()) {
      charge.charged = true;
      charge.answered = Answered::store;
      charge.verdict = {.within_limit = true, .limit = 100, .remaining = 77};
    }
    co_return;
  }
  boost::asio::awaitable<void> peek(ChargeSet& set) override { return decide(set); }
  void settle(const ChargeSet&, std::int64_t delta) override {
    ++settled;
    handed_in += delta;
  }
  void release(const ChargeSet&) override { ++released; }
  void renew(const ChargeSet&) override {}

 private:
  const Clock& clock_;
};

class LadderTest : public ::testing::Test {
 protected:
  static limit::Policy policy(AlgorithmKind kind, std::int64_t limit, FailureMode brief, FailureMode longer) {
    limit::Policy made = policy_of(kind, limit);
    made.on_brief_failure = brief;
    made.on_long_failure = longer;
    return made;
  }
  static limit::Policy local(std::int64_t limit, AlgorithmKind kind = AlgorithmKind::token_bucket) {
    return policy(kind, limit, FailureMode::local, FailureMode::local);
  }
  LadderStore& make(std::size_t instances) {
    fleet_.emplace(1, instances);
    LadderStore::Options options;
    options.hand_in_within = std::chrono::milliseconds(0);
    return store_.emplace(options, LadderStore::Parts{shared_, memory_, clock_, *fleet_, fleet_->uses(0),
                                                      loop_.get_executor()});
  }
  void decide(ChargeSet& set) {
    if (!store_->decide_now(set)) test::await(loop_, store_->decide(set));
    ASSERT_FALSE(set.store_error) << "nobody above may see it";
    run_background();
  }
  void run_background() {
    for (int n = 0; n < 3; ++n) {
      loop_.restart();
      loop_.run_for(std::chrono::milliseconds(4));
    }
  }
  void break_store(ErrorKind kind = ErrorKind::timeout) { shared_.mood = redis::make_error_code(kind); }

  FakeClock clock_;
  boost::asio::io_context loop_;
  MoodyStore shared_{clock_};
  MemoryStore memory_{1000, clock_};
  std::optional<FleetShare> fleet_;
  std::optional<LadderStore> store_;
};

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

// A store that answers every other call is not healthy in between, and its failure becomes a long one.
TEST_F(LadderTest, AStoreThatFlapsStaysIll) {
  make(1);
  const limit::Policy one = local(1'000'000);
  const auto once = [&](ErrorKind kind) {
    shared_.mood = kind == ErrorKind{} ? error_code() : redis::make_error_code(kind);
    ChargeSet set;
    add_layer(set, one, "k");
    decide(set);
    clock_.advance(500);
  };
  for (int n = 0; n < 60; ++n) {
    once(ErrorKind::timeout);
    once(ErrorKind{});
    EXPECT_EQ(store_->stats().health, StoreHealth::brief);
  }
  for (int n = 0; n < 5; ++n) {
    once(ErrorKind::timeout);
    once(ErrorKind{});
  }
  EXPECT_EQ(store_->stats().health, StoreHealth::long_failure);
  for (int n = 0; n < 5; ++n) once(ErrorKind{});
  EXPECT_EQ(store_->stats().health, StoreHealth::healthy);
}

TEST_F(LadderTest, TheLastKnownShareOfTheTrafficDecides) {
  make(4);
  const UseTable::Use posted[] = {{counter_id("hot"), 700}, {counter_id("rare"), 1}};
  const std::int64_t fleet[] = {1000, 10'000};
  fleet_->learn(2, 7, posted, fleet);
  break_store();
  const limit::Policy one = local(1000);
  const auto passes = [&](std::string_view key) {
    int passed = 0;
    for (int n = 0; n < 1300; ++n) {
      ChargeSet set;
      add_layer(set, one, key);
      if (!store_->decide_now(set)) test::await(loop_, store_->decide(set));
      passed += set.charge[0].verdict.within_limit ? 1 : 0;
    }
    return passed;
  };
  const int hot = passes("hot");
  EXPECT_LE(hot, 840) << "1.2 x 70 %";
  EXPECT_GE(hot, 760) << "less one step of rounding";
  EXPECT_EQ(passes("rare"), 1) << "never nobody";
  EXPECT_EQ(passes("unseen"), 600) << "1.2 x one of two";
}

// What was used here is charged to the store when it is back, as far as its counter would still count it.
TEST_F(LadderTest, WhatWasUsedHereIsHandedIn) {
  make(1);
  const limit::Policy bucket = local(6000);
  limit::Policy window = local(6000, AlgorithmKind::fixed_window);
  const auto use = [&](const limit::Policy& policy, std::string_view key, std::int64_t cost) {
    ChargeSet set;
    add_layer(set, policy, key, cost);
    decide(set);
  };
  use(bucket, "b", 1);  // the store's clock is known now
  break_store();
  for (int n = 0; n < 3; ++n) use(bucket, "other", 1);
  ASSERT_TRUE(store_->stats().breaker_open);
  use(window, "w", 500);
  clock_.advance(61'000);
  use(window, "w", 40);
  use(bucket, "b", 300);
  clock_.advance(1000);
  use(window, "w", 2);
  shared_.settled = 0;
  shared_.mood = {};
  clock_.advance(2000);
  use(bucket, "b", 0);
  run_background();
  // The window of a minute ago is over; the bucket has refilled 100 a second meanwhile.
  EXPECT_EQ(shared_.settled, 1) << "the others owe nothing any more";
  EXPECT_EQ(shared_.handed_in, 42);
}

// The same over a real server that dies, comes back, stops and goes on.
TEST(LadderOverRedis, OutlivesItsServer) {
  test::RedisServer server;
  RedisWorld world(server.port(), std::chrono::milliseconds(50));
  ASSERT_TRUE(world.ready());
  MemoryStore memory(1000, system_clock());
  FleetShare fleet(1, 2);
  LadderStore store(
      {}, {world.store(), memory, system_clock(), fleet, fleet.uses(0), world.loop().get_executor()});
  limit::Policy policy = policy_of(AlgorithmKind::token_bucket, 1000, 3'600'000);
  const auto answered = [&] {
    ChargeSet set;
    add_layer(set, policy, "k");
    if (!store.decide_now(set)) world.run(store.decide(set));
    EXPECT_FALSE(set.store_error);
    EXPECT_TRUE(set.charge[0].verdict.within_limit);
    return set.charge[0].answered;
  };
  const auto until = [&](Answered wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (answered() != wanted && std::chrono::steady_clock::now() < end) {
      world.loop().restart();
      world.loop().run_for(std::chrono::milliseconds(5));
    }
    return std::chrono::steady_clock::now() < end;
  };
  until(Answered::store);
  server.kill();
  ASSERT_TRUE(until(Answered::local));
  server.restart();
  ASSERT_TRUE(until(Answered::store));
  server.pause();
  ASSERT_TRUE(until(Answered::local));
  const auto begin = std::chrono::steady_clock::now();
  for (int n = 0; n < 100; ++n) EXPECT_EQ(answered(), Answered::local);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)) << "not 100 timeouts";
  server.resume();
  ASSERT_TRUE(until(Answered::store));
}

}  // namespace
}  // namespace weir::store
