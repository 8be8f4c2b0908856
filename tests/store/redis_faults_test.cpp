// SPDX-License-Identifier: Apache-2.0
// Everything a server can answer that it should not: an error of the right kind, exactly one execution per
// request, never a crash and never a verdict made from it.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "store/redis_store.hpp"
#include "store/redis_world.hpp"
#include "support/fake_resp.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::ChargeSet;
using redis::ErrorKind;
using test::FakeResp;
using Then = FakeResp::Answer::Then;

struct Fault {
  const char* name;
  FakeResp::Answer answer;
  ErrorKind first;  // of the first call; later ones may find no connection yet
};

std::string good_answer(int layers) {
  std::string bytes = "*" + std::to_string(1 + 3 * layers) + "\r\n:1800000000000\r\n";
  for (int n = 0; n < layers; ++n) bytes += ":3\r\n:9\r\n:6000\r\n";
  return bytes;
}

std::string with(std::string bytes, const std::string& from, const std::string& to) {
  const std::size_t at = bytes.find(from);
  return bytes.replace(at, from.size(), to);
}

std::vector<Fault> faults() {
  return {
      {"reset mid-reply", {"*4\r\n:1800000", Then::reset}, ErrorKind::unavailable},
      {"closed mid-reply", {"*4\r\n:1800000000000\r\n:1\r\n", Then::close}, ErrorKind::unavailable},
      {"applied, no answer", {"", Then::close}, ErrorKind::unavailable},
      {"truncated and silent", {"*4\r\n:1800000000000\r\n"}, ErrorKind::timeout},
      {"silent", {""}, ErrorKind::timeout},
      {"loading", {"-LOADING Redis is loading the dataset in memory\r\n"}, ErrorKind::loading},
      {"oom", {"-OOM command not allowed when used memory > 'maxmemory'.\r\n"}, ErrorKind::oom},
      {"readonly", {"-READONLY You can't write against a read only replica.\r\n"}, ErrorKind::readonly},
      {"noauth", {"-NOAUTH Authentication required.\r\n"}, ErrorKind::noauth},
      {"moved", {"-MOVED 3999 127.0.0.1:6381\r\n"}, ErrorKind::moved},
      {"crossslot", {"-CROSSSLOT Keys in request don't hash to the same slot\r\n"}, ErrorKind::crossslot},
      {"noperm", {"-NOPERM this user has no permissions\r\n"}, ErrorKind::noperm},
      {"odd error", {"-ERR Error running script (call to f_1): @user_script:1\r\n"}, ErrorKind::other},
      {"nil", {"$-1\r\n"}, ErrorKind::protocol},
      {"nil array", {"*-1\r\n"}, ErrorKind::protocol},
      {"empty array", {"*0\r\n"}, ErrorKind::protocol},
      {"an integer", {":1\r\n"}, ErrorKind::protocol},
      {"a status", {"+OK\r\n"}, ErrorKind::protocol},
      {"a bulk", {"$2\r\nOK\r\n"}, ErrorKind::protocol},
      {"one too few", {"*3\r\n:1\r\n:3\r\n:9\r\n"}, ErrorKind::protocol},
      {"for two layers", {good_answer(2)}, ErrorKind::protocol},
      {"a text among numbers", {with(good_answer(1), ":9", "$1\r\n9")}, ErrorKind::protocol},
      {"a nil among numbers", {with(good_answer(1), ":9", "$-1")}, ErrorKind::protocol},
      {"passes, with a wait of -1", {with(good_answer(1), ":3\r\n:9", ":-1\r\n:9")}, ErrorKind::protocol},
      {"refused, with a retry of -2", {with(good_answer(1), ":3\r\n:9", ":-8\r\n:9")}, ErrorKind::protocol},
      {"remaining -1", {with(good_answer(1), ":9", ":-1")}, ErrorKind::protocol},
      {"reset -1", {with(good_answer(1), ":6000", ":-1")}, ErrorKind::protocol},
      {"a megabyte", {"$1048576\r\n" + std::string(1048576, 'x') + "\r\n"}, ErrorKind::protocol},
      {"a thousand million elements", {"*1000000000\r\n"}, ErrorKind::protocol},
      {"not RESP", {"HTTP/1.1 400 Bad Request\r\n\r\n"}, ErrorKind::protocol},
      {"RESP3 map", {"%1\r\n+a\r\n:1\r\n"}, ErrorKind::protocol},
  };
}

TEST(RedisFaults, EachIsAnErrorOfItsKindAndOneExecution) {
  const limit::Policy policy = policy_of(AlgorithmKind::token_bucket, 10);
  for (const Fault& fault : faults()) {
    SCOPED_TRACE(fault.name);
    FakeResp server([&](const FakeResp::Request&) { return fault.answer; });
    RedisWorld world(server.port(),
                     std::chrono::milliseconds(fault.first == ErrorKind::timeout ? 40 : 20'000));
    for (int n = 0; n < 5; ++n) {
      ASSERT_TRUE(world.ready());
      ChargeSet set;
      add_layer(set, policy, "k");
      world.run(world.store().decide(set));
      EXPECT_EQ(set.store_error, redis::make_error_code(fault.first)) << set.store_error.message();
    }
    EXPECT_EQ(server.count("EVALSHA"), 5U);
    EXPECT_EQ(server.count("EVAL"), 0U);
    EXPECT_EQ(world.errors(fault.first), 5U);
  }
}

TEST(RedisFaults, AfterAFaultTheNextAnswerBelongsToTheNextRequest) {
  const limit::Policy policy = policy_of(AlgorithmKind::token_bucket, 10);
  std::atomic<int> calls = 0;
  FakeResp server([&](const FakeResp::Request&) {
    return FakeResp::Answer{++calls % 2 == 1 ? "+OK\r\n" : good_answer(1)};
  });
  RedisWorld world(server.port());
  for (int n = 0; n < 10; ++n) {
    ASSERT_TRUE(world.ready());
    ChargeSet set;
    add_layer(set, policy, "k");
    world.run(world.store().decide(set));
    EXPECT_EQ(set.store_error.failed(), n % 2 == 0);
    if (n % 2 == 1) EXPECT_EQ(set.charge[0].verdict.remaining, 9);
  }
  EXPECT_EQ(server.connections(), 6U) << "an impossible reply costs the connection";
}

// Those in a call that is not answered, those that wait for the next one, and the line they stand in.
TEST(RedisFaults, AStoreThatStaysSilentFailsEveryoneInTime) {
  const limit::Policy policy = policy_of(AlgorithmKind::token_bucket, 10);
  FakeResp server([](const FakeResp::Request&) { return FakeResp::Answer{""}; });
  RedisWorld world(server.port(), std::chrono::milliseconds(100));
  ASSERT_TRUE(world.ready());
  std::deque<ChargeSet> sets;
  int left = 0;
  const auto ask = [&](int count) {
    for (; count > 0; --count, ++left) {
      add_layer(sets.emplace_back(), policy, "k");
      auto asking = world.store().decide(sets.back());
      boost::asio::co_spawn(world.loop(), std::move(asking), [&](std::exception_ptr) { --left; });
    }
  };
  ask(10);
  test::run_until(world.loop(), [&] { return server.count("EVALSHA") == 1; });
  ask(20);
  const auto began = std::chrono::steady_clock::now();
  test::run_until(world.loop(), [&] { return left == 0; });
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  for (const ChargeSet& set : sets) EXPECT_TRUE(set.store_error.failed());
  EXPECT_EQ(server.count("EVALSHA"), 1U) << "they wait for the call that is under way";
  EXPECT_EQ(world.errors(ErrorKind::timeout), 10U);
  EXPECT_EQ(world.errors(ErrorKind::unavailable), 20U);
  EXPECT_EQ(world.store().stats().calls, 2U);
}

// The program ends while requests wait: whatever they hold is given back (the sanitizer looks).
TEST(RedisFaults, AStoreMayEndWhileRequestsWait) {
  const limit::Policy policy = policy_of(AlgorithmKind::token_bucket, 10);
  FakeResp server([](const FakeResp::Request&) { return FakeResp::Answer{""}; });
  int ended = 0;
  std::deque<ChargeSet> sets;
  {
    boost::asio::io_context loop;
    redis::ConnectionOptions options;
    options.port = server.port();
    const auto connection = redis::Connection::start(loop.get_executor(), options);
    RedisStore store(std::make_shared<redis::SingleCaller>(connection), std::chrono::seconds(20));
    test::run_until(loop, [&] { return connection->ready(); });
    for (int n = 0; n < 40; ++n) {
      add_layer(sets.emplace_back(), policy, "k");
      boost::asio::co_spawn(loop, store.decide(sets.back()), [&](std::exception_ptr) { ++ended; });
      if (n == 20) test::run_until(loop, [&] { return server.count("EVALSHA") == 1; });
    }
    loop.restart();
    loop.poll();
    connection->close();
  }
  EXPECT_EQ(ended, 0) << "the loop did not run any more";
  EXPECT_EQ(server.count("EVALSHA"), 1U);
}

// A server that is far away: nobody waits for the calls of others for long.
TEST(RedisFaults, WhoIsFarFromTheStoreSendsMoreCallsAtOnce) {
  const limit::Policy policy = policy_of(AlgorithmKind::token_bucket, 10);
  FakeResp server([](const FakeResp::Request&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return FakeResp::Answer{good_answer(1)};
  });
  RedisWorld world(server.port());
  ASSERT_TRUE(world.ready());
  for (int n = 0; n < 30; ++n) {
    ChargeSet set;
    add_layer(set, policy, "k");
    world.run(world.store().decide(set));
    ASSERT_FALSE(set.store_error);
  }
  std::deque<ChargeSet> sets;
  int left = 4;
  const std::uint64_t before = world.store().stats().calls;
  for (int n = 0; n < 4; ++n) {
    add_layer(sets.emplace_back(), policy, "k");
    boost::asio::co_spawn(world.loop(), world.store().decide(sets.back()),
                          [&](std::exception_ptr) { --left; });
    test::run_until(world.loop(), [&] {
      return world.store().stats().calls == before + static_cast<std::uint64_t>(n) + 1;
    });
  }
  EXPECT_GT(left, 0) << "all four were sent before the first was answered";
  test::run_until(world.loop(), [&] { return left == 0; });
}

// A cluster sees from KEYS which node to ask; a key hidden in ARGV would break there.
TEST(RedisFaults, AllKeysAreInKeysAndNoneInArgv) {
  std::vector<limit::Policy> policies;
  for (const AlgorithmKind kind : kAllAlgorithms) policies.push_back(policy_of(kind, 10));
  std::mutex mutex;
  FakeResp::Request last;
  FakeResp server([&](const FakeResp::Request& request) {
    const std::lock_guard lock(mutex);
    last = request;
    return FakeResp::Answer{good_answer(8)};
  });
  RedisWorld world(server.port());
  ASSERT_TRUE(world.ready());
  for (int n = 0; n < 50; ++n) {
    ChargeSet set;
    for (const limit::Policy& policy : policies) {
      add_layer(set, policy, "w1:e:{c=tenant" + std::to_string(n) + "}:" + policy.layer);
    }
    if (n % 2 == 0) {
      world.run(world.store().decide(set));
    } else {
      for (limit::Charge& charge : set.charges()) charge.charged = true;
      world.store().settle(set, 5);
      world.drain();
    }
    const std::lock_guard lock(mutex);
    const FakeResp::Request& seen = last;
    const std::size_t keys = std::stoul(seen.at(2));
    EXPECT_EQ(keys, n % 2 == 0 ? 8U : 7U);
    for (std::size_t word = 3; word < seen.size(); ++word) {
      EXPECT_EQ(seen[word].find("tenant") != std::string::npos, word < 3 + keys) << seen[word];
    }
  }
}

}  // namespace
}  // namespace weir::store
