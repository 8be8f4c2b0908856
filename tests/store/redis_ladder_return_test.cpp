// SPDX-License-Identifier: Apache-2.0
// How a sick store is found again, whose share counts meanwhile, and what is handed in afterwards.
#include <gtest/gtest.h>

#include "store/moody_store.hpp"
#include "support/redis_server.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Answered;
using limit::ChargeSet;
using redis::ErrorKind;

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

// The same over a real server that dies, comes back, stops and goes on. Pauses are so long that only the new
// connection can be why it is asked again.
TEST(LadderOverRedis, OutlivesItsServer) {
  test::RedisServer server;
  RedisWorld world(server.port(), std::chrono::milliseconds(50));
  ASSERT_TRUE(world.ready());
  MemoryStore memory(1000, system_clock());
  FleetShare fleet(1, 2);
  LadderStore::Options options;
  options.breaker.pause_min_ms = options.breaker.pause_max_ms = 120'000;
  LadderStore store(options, {world.store(), memory, system_clock(), fleet, fleet.uses(0),
                              world.loop().get_executor(), &world.store().caller()});
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
