// SPDX-License-Identifier: Apache-2.0
// What holds for a whole chain, and what a key may look like, on a real Redis with a scripted clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "lua/script_client.hpp"
#include "redis/resp.hpp"
#include "store/packed.hpp"

namespace weir::test {
namespace {

using limit::Accounting;
using limit::AlgorithmKind;
using limit::Enforcement;

constexpr std::int64_t kNow = 1'800'000'000'000;

constexpr std::array kAll{AlgorithmKind::fixed_window,    AlgorithmKind::sliding_window,
                          AlgorithmKind::sliding_counter, AlgorithmKind::sliding_log,
                          AlgorithmKind::token_bucket,    AlgorithmKind::gcra,
                          AlgorithmKind::leaky_bucket,    AlgorithmKind::concurrency};

limit::Policy policy_of(AlgorithmKind kind, std::int64_t limit, std::int64_t window_ms = 60'000) {
  limit::Policy policy;
  policy.terms = terms_of(kind, limit, window_ms);
  return policy;
}

class Chain : public ::testing::Test {
 protected:
  // The policies of the eight algorithms, all with one limit.
  static std::vector<limit::Policy> one_of_each(std::int64_t limit) {
    std::vector<limit::Policy> policies;
    for (const AlgorithmKind kind : kAll) policies.push_back(policy_of(kind, limit));
    return policies;
  }
  static void fill(limit::ChargeSet& set, const std::vector<limit::Policy>& policies) {
    set.clear();
    for (const limit::Policy& policy : policies) {
      add_layer(set, policy, std::string("{c}:") + std::string(limit::name_of(policy.terms.algorithm)));
    }
  }
  std::string text_of(std::string_view key) { return client_.raw().text({"GET", key}); }

  RedisServer server_;
  ScriptClient client_{server_.port()};
};

TEST_F(Chain, EightAlgorithmsInOneCall) {
  const auto policies = one_of_each(10);
  limit::ChargeSet set;
  for (int n = 0; n < 10; ++n) {
    fill(set, policies);
    client_.ask(set, "decide", kNow);
    for (const limit::Charge& charge : set.charges()) {
      EXPECT_TRUE(charge.verdict.within_limit) << charge.key;
      EXPECT_EQ(charge.verdict.remaining, 9 - n) << charge.key;
      EXPECT_TRUE(charge.charged);
    }
  }
  fill(set, policies);
  client_.ask(set, "decide", kNow);
  for (const limit::Charge& charge : set.charges()) EXPECT_FALSE(charge.verdict.within_limit) << charge.key;
}

TEST_F(Chain, ARefusedRequestChargesNobody) {
  auto policies = one_of_each(10);
  policies[4].terms.limit = policies[4].terms.burst = 3;
  limit::ChargeSet set;
  for (int n = 0; n < 20; ++n) {
    fill(set, policies);
    client_.ask(set, "decide", kNow);
    for (std::size_t layer = 0; layer < set.size; ++layer) {
      EXPECT_EQ(set.charge[layer].charged, n < 3);
      if (layer != 4) EXPECT_EQ(set.charge[layer].verdict.remaining, n < 3 ? 9 - n : 7) << layer;
    }
  }
}

TEST_F(Chain, ARefusalWritesNothing) {
  const auto policies = one_of_each(2);
  limit::ChargeSet set;
  for (int n = 0; n < 2; ++n) {
    fill(set, policies);
    client_.ask(set, "decide", kNow);
  }
  const auto dirty = [this] {
    const std::string info = client_.raw().text({"INFO", "persistence"});
    return info.substr(info.find("rdb_changes_since_last_save"), 40);
  };
  const std::string before = dirty();
  for (int n = 0; n < 20; ++n) {
    fill(set, policies);
    client_.ask(set, n % 2 == 0 ? "decide" : "peek", kNow + n);
    EXPECT_FALSE(set.charge[0].verdict.within_limit);
  }
  EXPECT_EQ(dirty(), before);
}

TEST_F(Chain, PeekNeverWritesNotEvenARepair) {
  const auto policies = one_of_each(5);
  limit::ChargeSet set;
  fill(set, policies);
  client_.ask(set, "peek", kNow);
  EXPECT_EQ(client_.raw().integer({"DBSIZE"}), 0);
  client_.ask(set, "decide", kNow);
  const std::string before = text_of("{c}:token_bucket");
  client_.ask(set, "peek", kNow - 3'600'000);
  EXPECT_EQ(text_of("{c}:token_bucket"), before);
}

TEST_F(Chain, ShadowLayersNeverRefuse) {
  auto policies = one_of_each(10);
  for (limit::Policy& policy : policies) policy.enforcement = Enforcement::shadow;
  policies[0].enforcement = Enforcement::enforce;
  policies[3].terms.limit = policies[3].terms.burst = 2;
  limit::ChargeSet set;
  for (int n = 0; n < 12; ++n) {
    fill(set, policies);
    client_.ask(set, "decide", kNow);
    EXPECT_EQ(set.charge[0].charged, n < 10);
    EXPECT_EQ(set.charge[3].charged, n < 2);   // its own verdict refuses
    EXPECT_EQ(set.charge[5].charged, n < 10);  // the request is refused
    EXPECT_EQ(set.charge[3].verdict.within_limit, n < 2);
  }
}

TEST_F(Chain, RelaxedKeepsWhatStandsBeforeTheRefusal) {
  std::vector<limit::Policy> policies{
      policy_of(AlgorithmKind::token_bucket, 10), policy_of(AlgorithmKind::gcra, 10),
      policy_of(AlgorithmKind::fixed_window, 2), policy_of(AlgorithmKind::sliding_log, 10)};
  policies[1].enforcement = Enforcement::shadow;
  limit::ChargeSet set;
  for (int n = 0; n < 5; ++n) {
    fill(set, policies);
    set.accounting = Accounting::relaxed;
    client_.ask(set, "decide", kNow);
    EXPECT_TRUE(set.charge[0].charged);
    EXPECT_EQ(set.charge[1].charged, n < 2);  // shadow: only if the whole request passes
    EXPECT_EQ(set.charge[2].charged, n < 2);
    EXPECT_EQ(set.charge[3].charged, n < 2);  // judged, not charged, after the refusal
    EXPECT_TRUE(set.charge[3].verdict.within_limit);
    EXPECT_EQ(set.charge[0].verdict.remaining, 9 - n);
  }
}

TEST_F(Chain, SettleReleaseRenewTouchOnlyTheirKind) {
  const auto policies = one_of_each(10);
  limit::ChargeSet set;
  fill(set, policies);
  client_.ask(set, "decide", kNow);
  client_.notify(set, "settle", 4, kNow);
  client_.notify(set, "renew", 0, kNow + 30'000);
  fill(set, policies);
  client_.ask(set, "peek", kNow);
  for (std::size_t layer = 0; layer < 7; ++layer) {
    EXPECT_EQ(set.charge[layer].verdict.remaining, 5) << set.charge[layer].key;
  }
  EXPECT_EQ(set.charge[7].verdict.remaining, 9);
  client_.ask(set, "peek", kNow + 89'999);
  EXPECT_EQ(set.charge[7].verdict.remaining, 9);
  for (limit::Charge& charge : set.charges()) charge.charged = true;
  client_.notify(set, "release", 0, kNow + 89'999);
  client_.ask(set, "peek", kNow + 89'999);
  EXPECT_EQ(set.charge[7].verdict.remaining, 10);
}

// A hit that finds an end that is late enough overwrites what it changed, and leaves the end alone.
TEST_F(Chain, TheEndMovesOnlyWhenItMust) {
  const auto writes = [this](std::string_view command) {
    const std::string stats = client_.raw().text({"INFO", "commandstats"});
    const std::size_t at = stats.find("cmdstat_" + std::string(command) + ":calls=");
    return at == std::string::npos ? 0 : std::atoi(stats.c_str() + stats.find('=', at) + 1);
  };
  auto policies = one_of_each(1000);
  policies.resize(7);
  policies.erase(policies.begin() + 3);  // sliding_log, and concurrency, are no strings
  limit::ChargeSet set;
  for (int n = 0; n < 10; ++n) {
    fill(set, policies);
    client_.ask(set, "decide", kNow + n);
    EXPECT_EQ(writes("set"), 6);
    EXPECT_EQ(writes("setrange"), 6 * n);
  }
  fill(set, policies);
  client_.ask(set, "decide", kNow + 60'000);
  EXPECT_EQ(writes("set"), 12);
  for (const limit::Charge& charge : set.charges()) {
    EXPECT_GT(client_.life_of(charge.key, kNow + 60'000), 1000) << charge.key;
  }
}

TEST_F(Chain, EveryKeyEndsAndAnEndlessOneIsRepaired) {
  const auto policies = one_of_each(10);
  limit::ChargeSet set;
  fill(set, policies);
  client_.ask(set, "decide", kNow);
  for (const limit::Charge& charge : set.charges()) {
    EXPECT_EQ(client_.raw().integer({"PERSIST", charge.key}), 1);
    EXPECT_EQ(client_.raw().integer({"PTTL", charge.key}), -1);
  }
  // The end is left alone where it is late enough; a window later it never is.
  fill(set, policies);
  client_.ask(set, "decide", kNow + 60'000);
  for (const limit::Charge& charge : set.charges()) {
    EXPECT_LE(client_.life_of(charge.key, kNow + 60'000), 2 * 60'000 + 2000) << charge.key;
  }
  EXPECT_EQ(client_.raw().integer({"DBSIZE"}), 8);
}

TEST_F(Chain, ForeignTextUnderAKeyCountsAsFresh) {
  for (const AlgorithmKind kind : kAll) {
    if (kind == AlgorithmKind::sliding_log || kind == AlgorithmKind::concurrency) continue;
    for (const char* text : {"", "garbage", "1", "1:2:3:4:5:6", "-1:-1", "::", "99999999999999999999:1:1"}) {
      client_.raw().call({"SET", "k", text});
      const limit::Policy policy = policy_of(kind, 5);
      limit::ChargeSet set;
      add_layer(set, policy, "k");
      client_.ask(set, "decide", kNow);
    }
  }
  client_.raw().call({"SET", "z", "text"});
  const limit::Policy policy = policy_of(AlgorithmKind::sliding_log, 5);
  limit::ChargeSet set;
  add_layer(set, policy, "z");
  std::string batch;
  client_.add_question(batch, set, "decide", kNow);
  client_.raw().send(batch);
  const redis::Reply reply = client_.raw().receive();
  ASSERT_EQ(reply.elements.size(), 2U);
  EXPECT_EQ(reply.elements[1].type, redis::Reply::Type::error);
  EXPECT_EQ(redis::classify(reply.elements[1].text), redis::ErrorKind::wrong_type) << reply.elements[1].text;
}

TEST_F(Chain, UnknownAlgorithmIsAnErrorBeforeAnyWrite) {
  store::Packed policies;
  policies.start_array(3);
  policies.add(std::string_view("leaky"));
  for (const std::int64_t value : {1, 1000}) policies.add(value);
  redis::ScriptArguments arguments;
  arguments.start(1);
  for (const std::string_view word : {"k", "decide", "all_or_none"}) arguments.add(word);
  for (const std::string_view packed :
       {policies.view(), std::string_view("\1\0", 2), std::string_view("\1\1\1")}) {
    arguments.add(packed);
  }
  std::string batch;
  client_.add(batch, arguments, kNow);
  client_.raw().send(batch);
  EXPECT_EQ(client_.raw().receive().type, redis::Reply::Type::error);
  EXPECT_EQ(client_.raw().integer({"DBSIZE"}), 0);
}

// A clock that steps back and forth mints no tokens and never takes `when` back without saying so.
TEST_F(Chain, ATremblingClockMintsNothing) {
  for (const AlgorithmKind kind :
       {AlgorithmKind::token_bucket, AlgorithmKind::gcra, AlgorithmKind::leaky_bucket}) {
    const limit::Policy policy = policy_of(kind, 10, 1'000'000);
    limit::ChargeSet set;
    add_layer(set, policy, std::string("t:") + std::string(limit::name_of(kind)), 10);
    client_.ask(set, "decide", kNow);
    EXPECT_TRUE(set.charge[0].verdict.within_limit);
    set.charge[0].request.cost = 1;
    int passed = 0;
    for (int n = 0; n < 400; ++n) {
      client_.ask(set, "decide", n % 2 == 0 ? kNow : kNow - 50'000);
      passed += set.charge[0].verdict.within_limit ? 1 : 0;
    }
    EXPECT_EQ(passed, 0) << limit::name_of(kind);
  }
}

TEST_F(Chain, ASlidingLogStaysSmallAndRefusalsLeaveNoEntry) {
  const limit::Policy policy = policy_of(AlgorithmKind::sliding_log, 1000);
  limit::ChargeSet set;
  add_layer(set, policy, "log");
  std::int64_t most = 0;
  int passed = 0;
  for (int second = 0; second < 150; ++second) {
    std::string batch;
    for (int n = 0; n < 100; ++n) client_.add_question(batch, set, "decide", kNow + second * 1000 + n);
    redis::append_command(batch, {"ZCARD", "log"});
    client_.raw().send(batch);
    for (int n = 0; n < 100; ++n) {
      ASSERT_TRUE(read_answer(client_.raw().receive(), set));
      passed += set.charge[0].charged ? 1 : 0;
    }
    most = std::max(most, client_.raw().receive().integer);
  }
  EXPECT_EQ(passed, 3000);
  EXPECT_LE(most, 1000);
  EXPECT_LE(client_.life_of("log", kNow + 149'099), 61'000);
}

TEST_F(Chain, ALargeCostIsLoggedInOneCall) {
  const limit::Policy policy = policy_of(AlgorithmKind::sliding_log, 5000);
  limit::ChargeSet set;
  add_layer(set, policy, "log", 4001);
  client_.ask(set, "decide", kNow);
  EXPECT_EQ(client_.raw().integer({"ZCARD", "log"}), 4001);
  EXPECT_EQ(set.charge[0].verdict.remaining, 999);
}

// A changed number of cells keeps what was used.
TEST_F(Chain, AnotherNumberOfCellsForgivesNothing) {
  limit::Policy policy = policy_of(AlgorithmKind::sliding_window, 10);
  limit::ChargeSet set;
  add_layer(set, policy, "cells", 7);
  client_.ask(set, "decide", kNow);
  policy.terms.cells = 50;
  client_.ask(set, "peek", kNow);
  EXPECT_EQ(set.charge[0].verdict.remaining, 3);
}

// A count may grow far beyond the limit.
TEST_F(Chain, CellsHoldADebt) {
  const limit::Policy policy = policy_of(AlgorithmKind::sliding_window, 9);
  limit::ChargeSet set;
  add_layer(set, policy, "wide");
  client_.ask(set, "decide", kNow);
  client_.notify(set, "settle", 123'456, kNow + 6'000);
  client_.ask(set, "peek", kNow + 6'000);
  EXPECT_FALSE(set.charge[0].verdict.within_limit);
  set.charge[0].charged = true;  // the refund is of this later charge
  client_.notify(set, "settle", -123'450, kNow + 6'000);
  client_.ask(set, "peek", kNow + 6'000);
  EXPECT_EQ(set.charge[0].verdict.remaining, 2);
}

}  // namespace
}  // namespace weir::test
