// SPDX-License-Identifier: Apache-2.0
// Many requests in one call decide, and leave behind, exactly what the same requests do in calls of their
// own.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "lua/script_client.hpp"
#include "store/chain_call.hpp"

namespace weir::test {
namespace {

using limit::AlgorithmKind;
using limit::ChargeSet;
using limit::Enforcement;

constexpr std::int64_t kStart = 1'800'000'000'000;
constexpr int kSteps = 50'000;  // requests of each algorithm

// One request twice: its layers have the keys of two worlds, which must not come to differ.
struct Pair {
  ChargeSet together;
  ChargeSet alone;
  std::deque<limit::Lease> leases;  // of `together`, then of `alone`, by layer
};

class Batch : public ::testing::TestWithParam<AlgorithmKind> {
 protected:
  // Few keys, so that one call names them again and again; limits that are reached, and change now and then.
  void SetUp() override {
    for (int n = 0; n < kKeys; ++n) reload();
  }

  int any(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  // Most layers are of the algorithm; some of another, so that they meet in a chain.
  void reload() {
    const auto key = static_cast<std::size_t>(policies_.size() < kKeys ? policies_.size() : any(kKeys));
    constexpr std::array kOthers{AlgorithmKind::token_bucket, AlgorithmKind::sliding_log,
                                 AlgorithmKind::concurrency};
    limit::Policy& policy = history_.emplace_back();
    const bool main = key < 5;
    policy.terms = terms_of(main ? GetParam() : kOthers[key - 5], 1 + any(40), 1000 * (1 + any(20)));
    policy.terms.max_wait_ms = policy.terms.algorithm == AlgorithmKind::leaky_bucket ? any(3000) : 0;
    if (policies_.size() < kKeys) policies_.push_back(nullptr);
    policies_[key] = &policy;
  }

  void add_layers(Pair& pair) {
    std::vector<int> keys{0, 1, 2, 3, 4, 5, 6, 7};
    std::shuffle(keys.begin(), keys.end(), random_);
    const int layers = 1 + any(4);
    pair.together.accounting = pair.alone.accounting =
        relaxed_ ? limit::Accounting::relaxed : limit::Accounting::all_or_none;
    for (int n = 0; n < layers; ++n) {
      const auto key = static_cast<std::size_t>(keys[static_cast<std::size_t>(n)]);
      const std::int64_t cost = any(8) == 0 ? any(60) : any(3);
      const auto owner = static_cast<std::uint64_t>(1 + any(50));
      const Enforcement enforcement = any(5) == 0 ? Enforcement::shadow : Enforcement::enforce;
      const bool leases = policies_[key]->terms.algorithm == AlgorithmKind::token_bucket && any(4) == 0;
      for (ChargeSet* set : {&pair.together, &pair.alone}) {
        const char* world = set == &pair.together ? "together:" : "alone:";
        limit::Charge& charge = add_layer(*set, *policies_[key], world + std::to_string(key), cost);
        charge.request.owner = owner;
        charge.request.offset_ms = static_cast<std::int64_t>(key) * 100;
        charge.enforcement = enforcement;
        if (leases) charge.lease = &pair.leases.emplace_back(lease_);
      }
    }
    lease_ = limit::Lease();
    lease_.more = any(9);
    lease_.least = any(3);
    lease_.permille = 100 * (1 + any(10));
    lease_.life_ms = 200 + any(300);
    lease_.back[0] = {any(3), now_ms_ - any(400)};
    lease_.spent[0] = {any(4), now_ms_ - any(400)};
  }

  void expect_equal(const Pair& pair) {
    for (std::size_t n = 0; n < pair.together.size; ++n) {
      const limit::Charge& one = pair.together.charge[n];
      const limit::Charge& other = pair.alone.charge[n];
      EXPECT_EQ(one.charged, other.charged) << one.key;
      EXPECT_EQ(one.verdict.within_limit, other.verdict.within_limit) << one.key;
      EXPECT_EQ(one.verdict.remaining, other.verdict.remaining) << one.key;
      EXPECT_EQ(one.verdict.retry_after_ms, other.verdict.retry_after_ms) << one.key;
      EXPECT_EQ(one.verdict.reset_ms, other.verdict.reset_ms) << one.key;
      EXPECT_EQ(one.verdict.wait_ms, other.verdict.wait_ms) << one.key;
      if (one.lease == nullptr) continue;
      EXPECT_EQ(one.lease->granted, other.lease->granted) << one.key;
      EXPECT_EQ(one.lease->next_ms, other.lease->next_ms) << one.key;
    }
  }

  void ask_together(std::deque<Pair>& pairs) {
    store::ChainCall call;
    call.start("decide", pairs.front().together.accounting);
    for (Pair& pair : pairs) ASSERT_TRUE(call.add(pair.together));
    redis::ScriptArguments arguments;
    call.write(arguments);
    std::string wire;
    client_.add(wire, arguments, now_ms_);
    client_.raw().send(wire);
    const redis::Reply reply = client_.raw().receive();
    store::ChainAnswers answers(reply);
    for (Pair& pair : pairs) ASSERT_TRUE(answers.read(pair.together)) << reply.text;
    ASSERT_TRUE(answers.complete());
  }

  void ask_alone(std::deque<Pair>& pairs) {
    std::string wire;
    for (Pair& pair : pairs) client_.add_question(wire, pair.alone, "decide", now_ms_);
    client_.raw().send(wire);
    for (Pair& pair : pairs) ASSERT_TRUE(read_answer(client_.raw().receive(), pair.alone));
  }

  void step_clock() {
    if (any(3) > 0) now_ms_ += any(400);
    if (any(40) == 0) now_ms_ += any(40'000);
    if (any(60) == 0) now_ms_ -= any(20'000);
    relaxed_ = any(4) == 0;
  }

  // Of a bucket all but when its key ends, which is moved by each call that finds it too early; of others the
  // digest.
  std::string state_of(const std::string& key, AlgorithmKind kind) {
    const bool gcra = kind == AlgorithmKind::gcra;
    const bool bucket = gcra || kind == AlgorithmKind::token_bucket || kind == AlgorithmKind::leaky_bucket;
    if (bucket) {
      std::string state = client_.raw().text({"GET", key});
      const std::size_t ends_at = gcra ? 33 : 25;
      return state.size() < ends_at + 8 ? state : state.erase(ends_at, 8);
    }
    const redis::Reply reply = client_.raw().call({"DEBUG", "DIGEST-VALUE", key});
    return reply.elements.empty() ? reply.text : reply.elements[0].text;
  }

  void expect_equal_state() {
    for (int key = 0; key < kKeys; ++key) {
      const std::string name = std::to_string(key);
      const AlgorithmKind kind = policies_[static_cast<std::size_t>(key)]->terms.algorithm;
      EXPECT_EQ(state_of("together:" + name, kind), state_of("alone:" + name, kind)) << key;
      const std::int64_t one = client_.raw().integer({"PTTL", "together:" + name});
      const std::int64_t other = client_.raw().integer({"PTTL", "alone:" + name});
      EXPECT_NEAR(static_cast<double>(one), static_cast<double>(other), 30'000) << key;
    }
  }

  static constexpr int kKeys = 8;
  RedisServer server_{std::vector<std::string>{"--enable-debug-command", "local"}};
  ScriptClient client_{server_.port()};
  std::minstd_rand random_{20261130};
  std::deque<limit::Policy> history_;
  std::vector<const limit::Policy*> policies_;
  limit::Lease lease_;
  std::int64_t now_ms_ = kStart;
  bool relaxed_ = false;
};

TEST_P(Batch, DecidesAsCallsOfTheirOwnDo) {
  int steps = 0;
  int passed = 0;
  for (int round = 0; steps < kSteps; ++round) {
    if (any(30) == 0) reload();
    step_clock();
    std::deque<Pair> pairs(static_cast<std::size_t>(1 + any(any(2) == 0 ? 4 : 30)));
    for (Pair& pair : pairs) add_layers(pair);
    ASSERT_NO_FATAL_FAILURE(ask_together(pairs));
    ASSERT_NO_FATAL_FAILURE(ask_alone(pairs));
    for (const Pair& pair : pairs) {
      expect_equal(pair);
      passed += pair.together.charge[0].charged ? 1 : 0;
    }
    steps += static_cast<int>(pairs.size());
    if (round % 50 == 0) expect_equal_state();
    ASSERT_FALSE(HasFailure()) << "round " << round << ", step " << steps;
  }
  EXPECT_GT(passed, kSteps / 10);
  EXPECT_LT(passed, kSteps * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Lua, Batch,
                         ::testing::Values(AlgorithmKind::fixed_window, AlgorithmKind::sliding_window,
                                           AlgorithmKind::sliding_counter, AlgorithmKind::sliding_log,
                                           AlgorithmKind::token_bucket, AlgorithmKind::gcra,
                                           AlgorithmKind::leaky_bucket, AlgorithmKind::concurrency),
                         [](const auto& of) { return std::string(limit::name_of(of.param)); });

limit::Policy policy_of(AlgorithmKind kind, std::int64_t limit) {
  limit::Policy policy;
  policy.terms = terms_of(kind, limit, 60'000);
  return policy;
}

TEST(ChainCall, TakesOneKeyWithOneLimitOnly) {
  const limit::Policy before = policy_of(AlgorithmKind::token_bucket, 10);
  const limit::Policy copy = before;
  const limit::Policy after = policy_of(AlgorithmKind::token_bucket, 20);
  ChargeSet sets[4];
  add_layer(sets[0], before, "k");
  add_layer(sets[1], copy, "k");
  add_layer(sets[2], after, "k");
  add_layer(sets[3], after, "other");
  store::ChainCall call;
  call.start("decide", limit::Accounting::all_or_none);
  EXPECT_TRUE(call.add(sets[0]));
  EXPECT_TRUE(call.add(sets[1])) << "equal terms are one, wherever they are written";
  EXPECT_FALSE(call.add(sets[2]));
  EXPECT_TRUE(call.add(sets[3]));
  sets[1].charge[0].request.offset_ms = 7;
  EXPECT_FALSE(call.add(sets[1]));
  call.start("decide", limit::Accounting::all_or_none);
  EXPECT_TRUE(call.add(sets[2]));
  sets[3].accounting = limit::Accounting::relaxed;
  EXPECT_FALSE(call.add(sets[3]));
}

TEST(ChainCall, IsBoundedInLayersAndBytes) {
  const limit::Policy policy = policy_of(AlgorithmKind::token_bucket, 10);
  store::ChainCall call;
  call.start("decide", limit::Accounting::all_or_none);
  ChargeSet small;
  for (int n = 0; n < 4; ++n) add_layer(small, policy, "k" + std::to_string(n));
  std::size_t layers = 0;
  while (call.add(small)) layers += small.size;
  EXPECT_EQ(layers, store::ChainCall::kMostLayers);
  call.start("decide", limit::Accounting::all_or_none);
  std::deque<ChargeSet> large;
  do {
    ChargeSet& set = large.emplace_back();
    for (int n = 0; n < 2; ++n)
      add_layer(set, policy, std::string(1500, 'x') + std::to_string(large.size() * 2 + n));
  } while (call.add(large.back()));
  redis::ScriptArguments arguments;
  call.write(arguments);
  EXPECT_LT(large.size(), 20U);
  EXPECT_LT(arguments.tail.size(), store::ChainCall::kMostBytes + limit::kKeyBytes);
}

}  // namespace
}  // namespace weir::test
