// SPDX-License-Identifier: Apache-2.0
// Counting together on a real Redis: exact, with the store's clock, without loss and without a leak.
#include "store/redis_store.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "store/redis_world.hpp"
#include "support/redis_server.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::ChargeSet;
using test::RedisServer;
using test::RespClient;

class RedisStoreTest : public ::testing::Test {
 protected:
  RedisStoreTest() { EXPECT_TRUE(world_.ready()); }

  RedisServer server_;
  RespClient client_{server_.port()};
  RedisWorld world_{server_.port()};
};

// Many requests at once over two connections: what one sees the other has charged.
TEST_F(RedisStoreTest, TwoGatewaysAndTwoHundredRequestsAtOnceAreExact) {
  const auto other = redis::Connection::start(world_.loop().get_executor(), [this] {
    redis::ConnectionOptions options;
    options.port = server_.port();
    return options;
  }());
  RedisStore second(std::make_shared<redis::SingleCaller>(other), std::chrono::seconds(20));
  ASSERT_TRUE(world_.run(other->wait_ready(std::chrono::steady_clock::now() + std::chrono::seconds(20))));
  for (const AlgorithmKind kind : kAllAlgorithms) {
    const limit::Policy policy = policy_of(kind, 10);
    std::deque<ChargeSet> sets;
    int left = 200;
    for (int n = 0; n < 200; ++n) {
      ChargeSet& set = sets.emplace_back();
      add_layer(set, policy, "w1:e:{c=a}:" + policy.layer).request.owner = static_cast<std::uint64_t>(n + 1);
      RedisStore& store = n % 2 == 0 ? world_.store() : second;
      boost::asio::co_spawn(world_.loop(), store.decide(set), [&](std::exception_ptr) { --left; });
    }
    test::run_until(world_.loop(), [&] { return left == 0; });
    int passed = 0;
    for (const ChargeSet& set : sets) {
      EXPECT_FALSE(set.store_error);
      EXPECT_EQ(set.charge[0].charged, set.charge[0].verdict.within_limit);
      passed += set.charge[0].charged ? 1 : 0;
    }
    EXPECT_EQ(passed, 10) << policy.layer;
  }
  const std::uint64_t calls = world_.store().stats().calls + second.stats().calls;
  EXPECT_LE(calls, 8 * 200 / 20) << "who asks together shares a call";
  EXPECT_GE(calls, 8 * 2);
  other->close();
}

// A reload lies between them: one key, two limits.
TEST_F(RedisStoreTest, RequestsThatDisagreeOnALimitDoNotShareACall) {
  const limit::Policy narrow = policy_of(AlgorithmKind::token_bucket, 10, 3'600'000);
  const limit::Policy wide = policy_of(AlgorithmKind::token_bucket, 1000, 3'600'000);
  std::deque<ChargeSet> sets;
  int left = 30;
  for (int n = 0; n < 30; ++n) {
    ChargeSet& set = sets.emplace_back();
    add_layer(set, n % 2 == 0 ? narrow : wide, "k");
    boost::asio::co_spawn(world_.loop(), world_.store().decide(set), [&](std::exception_ptr) { --left; });
  }
  test::run_until(world_.loop(), [&] { return left == 0; });
  EXPECT_EQ(world_.store().stats().calls, 30U);
  for (std::size_t n = 0; n < sets.size(); ++n) {
    EXPECT_EQ(sets[n].charge[0].verdict.limit, n % 2 == 0 ? 10 : 1000);
    EXPECT_LE(sets[n].charge[0].verdict.remaining, n % 2 == 0 ? 9 : 999);
  }
}

TEST_F(RedisStoreTest, AForeignValueFailsNobodyElsesRequest) {
  const limit::Policy log = policy_of(AlgorithmKind::sliding_log, 10);
  const limit::Policy window = policy_of(AlgorithmKind::fixed_window, 10, 3'600'000);
  client_.call({"SET", "foreign", "text"});
  std::deque<ChargeSet> sets;
  int left = 9;
  for (int n = 0; n < 9; ++n) {
    ChargeSet& set = sets.emplace_back();
    add_layer(set, window, "w");
    add_layer(set, log, n % 3 == 1 ? "foreign" : "l");
    boost::asio::co_spawn(world_.loop(), world_.store().decide(set), [&](std::exception_ptr) { --left; });
  }
  test::run_until(world_.loop(), [&] { return left == 0; });
  EXPECT_EQ(world_.store().stats().calls, 1U);
  for (std::size_t n = 0; n < sets.size(); ++n) {
    const bool fails = n % 3 == 1;
    EXPECT_EQ(sets[n].store_error,
              fails ? redis::make_error_code(redis::ErrorKind::wrong_type) : error_code());
  }
  EXPECT_EQ(sets[8].charge[0].verdict.remaining, 4) << "who fails is not charged";
  EXPECT_EQ(world_.errors(redis::ErrorKind::wrong_type), 3U);
  EXPECT_TRUE(world_.connection().ready());
}

TEST_F(RedisStoreTest, AFlushedScriptCacheLosesAndDoublesNothing) {
  const limit::Policy policy = policy_of(AlgorithmKind::sliding_window, 100);
  ChargeSet set;
  add_layer(set, policy, "k");
  for (int n = 0; n < 10; ++n) {
    if (n == 5) client_.call({"SCRIPT", "FLUSH"});
    world_.run(world_.store().decide(set));
    ASSERT_FALSE(set.store_error);
    EXPECT_EQ(set.charge[0].verdict.remaining, 99 - n);
  }
  EXPECT_EQ(world_.store().script_reloads(), 2U) << "one at the start, one after the flush";
  EXPECT_EQ(world_.errors(redis::ErrorKind::noscript), 0U);
}

TEST_F(RedisStoreTest, TheHostsClockDoesNotMatter) {
  const limit::Policy policy = policy_of(AlgorithmKind::token_bucket, 10, 60'000);
  int passed = 0;
  for (int n = 0; n < 100; ++n) {
    ChargeSet set;
    limit::Charge& charge = add_layer(set, policy, "clock");
    charge.request.now_ms = 1'800'000'000'000 + (n % 2 == 0 ? 2000 : -3'600'000);
    set.store_now_ms = charge.request.now_ms;
    world_.run(world_.store().decide(set));
    passed += charge.charged ? 1 : 0;
  }
  // A token comes back every six seconds of the store's time.
  EXPECT_GE(passed, 10);
  EXPECT_LE(passed, 12);
}

TEST_F(RedisStoreTest, EveryKeyEndsWithinTwoWindowsEvenAfterCrashes) {
  std::deque<limit::Policy> policies;
  for (const AlgorithmKind kind : kAllAlgorithms) policies.push_back(policy_of(kind, 50));
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(world_.ready());
    std::deque<ChargeSet> sets;
    int left = 100;
    for (int n = 0; n < 100; ++n) {
      ChargeSet& set = sets.emplace_back();
      for (const limit::Policy& policy : policies)
        add_layer(set, policy, policy.layer + std::to_string(n % 9));
      boost::asio::co_spawn(world_.loop(), world_.store().decide(set), [&](std::exception_ptr) { --left; });
    }
    world_.loop().restart();
    world_.loop().run_for(std::chrono::milliseconds(round));
    if (round < 2) server_.restart();
    test::run_until(world_.loop(), [&] { return left == 0; });
  }
  RespClient client(server_.port());
  EXPECT_EQ(test::expect_all_keys_end(client, 2 * 60'000 + 1000), 72U);
  EXPECT_EQ(client.integer({"PERSIST", "gcra0"}), 1);
  EXPECT_EQ(client.integer({"PERSIST", "sliding_log0"}), 1);
  ChargeSet set;
  add_layer(set, policies[3], "sliding_log0");
  add_layer(set, policies[5], "gcra0", 30);
  world_.run(world_.store().decide(set));
  EXPECT_TRUE(set.charge[1].charged);
  EXPECT_EQ(test::expect_all_keys_end(client, 2 * 60'000 + 1000), 72U)
      << "a hit that moves the end repairs an endless key";
}

TEST_F(RedisStoreTest, SettleReleaseAndRenewGoOutInTheBackground) {
  const limit::Policy bucket = policy_of(AlgorithmKind::token_bucket, 10);
  const limit::Policy slots = policy_of(AlgorithmKind::concurrency, 10);
  ChargeSet set;
  add_layer(set, bucket, "b");
  add_layer(set, slots, "s");
  world_.run(world_.store().decide(set));
  world_.store().settle(set, 3);
  world_.store().renew(set);
  world_.store().release(set);
  world_.drain();
  world_.run(world_.store().peek(set));
  EXPECT_EQ(set.charge[0].verdict.remaining, 6);
  EXPECT_EQ(set.charge[1].verdict.remaining, 10);
  EXPECT_FALSE(set.charge[0].charged);
  const std::uint64_t calls = world_.store().stats().calls;
  world_.store().settle(set, -1);  // nothing is charged: nothing is sent
  world_.store().release(set);
  world_.drain();
  EXPECT_EQ(world_.store().stats().calls, calls);
}

TEST_F(RedisStoreTest, AStoppedServerCostsTheTimeoutOnce) {
  RedisWorld quick(server_.port(), std::chrono::milliseconds(30));
  ASSERT_TRUE(quick.ready());
  const limit::Policy policy = policy_of(AlgorithmKind::gcra, 10);
  ChargeSet set;
  add_layer(set, policy, "k");
  server_.pause();
  const auto begin = std::chrono::steady_clock::now();
  quick.run(quick.store().decide(set));
  EXPECT_EQ(set.store_error, redis::make_error_code(redis::ErrorKind::timeout));
  quick.run(quick.store().decide(set));
  EXPECT_EQ(set.store_error, redis::make_error_code(redis::ErrorKind::unavailable));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(quick.errors(redis::ErrorKind::timeout), 1U);
  server_.resume();
  ASSERT_TRUE(quick.ready());
  quick.run(quick.store().decide(set));
  EXPECT_FALSE(set.store_error);
}

TEST_F(RedisStoreTest, OutOfMemoryAndForeignValuesHaveTheirKinds) {
  const limit::Policy policy = policy_of(AlgorithmKind::sliding_log, 10);
  client_.call({"SET", "foreign", "text"});
  ChargeSet set;
  add_layer(set, policy, "foreign");
  world_.run(world_.store().decide(set));
  EXPECT_EQ(set.store_error, redis::make_error_code(redis::ErrorKind::wrong_type));
  client_.call({"CONFIG", "SET", "maxmemory", "1"});
  ChargeSet other;
  add_layer(other, policy, "k");
  world_.run(world_.store().decide(other));
  EXPECT_EQ(other.store_error, redis::make_error_code(redis::ErrorKind::oom));
  EXPECT_TRUE(world_.connection().ready());
}

TEST_F(RedisStoreTest, FlushallForgetsAndGoesOn) {
  const limit::Policy policy = policy_of(AlgorithmKind::fixed_window, 10, 3'600'000);
  ChargeSet set;
  add_layer(set, policy, "k");
  world_.run(world_.store().decide(set));
  client_.call({"FLUSHALL"});
  world_.run(world_.store().decide(set));
  EXPECT_FALSE(set.store_error);
  EXPECT_EQ(set.charge[0].verdict.remaining, 9);
}

}  // namespace
}  // namespace weir::store
