// SPDX-License-Identifier: Apache-2.0
#include "store/counter_store_contract.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <vector>

namespace weir::store {

using limit::AlgorithmKind;
using limit::Policy;

Chain& Chain::add(const Policy& policy, const std::string& key, std::int64_t cost) {
  limit::Charge& charge = set_->charge[set_->size++];
  charge.policy = &policy;
  char* const bytes = set_->keys.data() + set_->keys_used;
  charge.key = {bytes, key.copy(bytes, key.size())};
  set_->keys_used += key.size();
  charge.request.cost = cost;
  charge.enforcement = policy.enforcement;
  charge.charged = false;
  const AlgorithmKind kind = policy.terms.algorithm;
  const bool offset = kind == AlgorithmKind::fixed_window || kind == AlgorithmKind::sliding_counter;
  charge.request.offset_ms = offset ? 12345 : 0;
  charge.request.owner = 1;
  return *this;
}

Chain& Chain::by_owner(std::uint64_t owner) {
  for (limit::Charge& charge : set_->charges()) charge.request.owner = owner;
  return *this;
}

void CounterStoreContract::SetUp() {
  world_ = GetParam().make();
  world_->set_now(kStart);
}

Policy CounterStoreContract::policy(AlgorithmKind kind, std::int64_t limit) {
  Policy policy;
  policy.layer = "test";
  policy.terms = {kind, limit, 60'000, limit, 0, 0, false};
  if (kind == AlgorithmKind::leaky_bucket) policy.terms.max_wait_ms = 30'000;
  if (kind == AlgorithmKind::sliding_window) policy.terms.cells = 10;
  return policy;
}

std::string CounterStoreContract::key(const std::string& name) {
  static std::atomic<int> count{0};
  return "w1:contract:{" + std::to_string(getpid()) + '-' + std::to_string(++count) + "}:" + name;
}

bool CounterStoreContract::decide(Chain& chain) {
  if (!store().decide_now(chain.set())) world_->run(store().decide(chain.set()));
  EXPECT_FALSE(chain.set().store_error) << chain.set().store_error.message();
  return limit::conclude(chain.set()).allowed();
}

bool CounterStoreContract::peek(Chain& chain) {
  world_->run(store().peek(chain.set()));
  EXPECT_FALSE(chain.set().store_error) << chain.set().store_error.message();
  return limit::conclude(chain.set()).allowed();
}

std::int64_t CounterStoreContract::left(const Policy& policy, const std::string& key) {
  Chain chain;
  chain.add(policy, key);
  peek(chain);
  return chain.verdict(0).remaining;
}

namespace {

std::vector<AlgorithmKind> all_kinds() {
  std::vector<AlgorithmKind> kinds;
  for (std::size_t n = 0; n < limit::kAlgorithmCount; ++n) kinds.push_back(static_cast<AlgorithmKind>(n));
  return kinds;
}

// "algorithm limit situation" -> how many pass, by the oracle.
std::map<std::string, int> admitted_by_oracle() {
  std::map<std::string, int> result;
  std::FILE* pipe = popen("python3 " WEIR_SOURCE_DIR "/tests/support/reference.py admit", "r");
  char algorithm[32], situation[16];
  int limit = 0, passed = 0;
  while (std::fscanf(pipe, "%31s %d %15s %d", algorithm, &limit, situation, &passed) == 4)
    result[std::string(algorithm) + ' ' + std::to_string(limit) + ' ' + situation] = passed;
  pclose(pipe);
  return result;
}

TEST_P(CounterStoreContract, admits_what_the_oracle_admits) {
  const auto want = admitted_by_oracle();
  ASSERT_EQ(want.size(), limit::kAlgorithmCount * 4 * 3);
  const std::map<std::string, std::vector<std::int64_t>> situations{
      {"cold", {kStart}}, {"edge", {kStart + 47'655 - 700}}, {"idle", {kStart, kStart + 199 * 7 + 180'000}}};
  for (const AlgorithmKind kind : all_kinds()) {
    for (const std::int64_t limit : {1, 2, 3, 10}) {
      for (const auto& [situation, starts] : situations) {
        const Policy terms = policy(kind, limit);
        const std::string counter = key("count");
        std::uint64_t owner = 0;
        int passed = 0;
        for (const std::int64_t start : starts) {
          passed = 0;
          for (int n = 0; n < 200; ++n) {
            world().set_now(start + 7 * n);
            Chain chain;
            chain.add(terms, counter).by_owner(++owner);
            passed += decide(chain) ? 1 : 0;
          }
        }
        const std::string name =
            std::string(limit::name_of(kind)) + ' ' + std::to_string(limit) + ' ' + situation;
        EXPECT_EQ(passed, want.at(name)) << name;
      }
    }
  }
}

TEST_P(CounterStoreContract, a_refused_request_costs_no_layer_anything) {
  for (const AlgorithmKind kind : all_kinds()) {
    for (std::size_t refusing = 0; refusing < 4; ++refusing) {
      std::vector<Policy> policies;
      std::vector<std::string> keys;
      for (std::size_t n = 0; n < 4; ++n) {
        policies.push_back(policy(n == 0 ? kind : AlgorithmKind::token_bucket, n == refusing ? 1 : 10));
        if (n == 0) policies[0].terms.max_wait_ms = 0;
        keys.push_back(key("layer"));
      }
      const auto ask = [&](std::uint64_t owner) {
        Chain chain;
        for (std::size_t n = 0; n < 4; ++n) chain.add(policies[n], keys[n]);
        chain.by_owner(owner);
        const bool passed = decide(chain);
        for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(chain.charged(n), passed);
        for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(chain.verdict(n).within_limit, passed || n != refusing);
        return passed;
      };
      EXPECT_TRUE(ask(1));
      for (std::uint64_t again = 2; again < 6; ++again) EXPECT_FALSE(ask(again));
      for (std::size_t n = 0; n < 4; ++n)
        EXPECT_EQ(left(policies[n], keys[n]), n == refusing ? 0 : 9) << "layer " << n;
    }
  }
}

TEST_P(CounterStoreContract, a_shadow_layer_never_refuses_and_counts_what_passes) {
  Policy shadow = policy(AlgorithmKind::fixed_window, 2);
  shadow.enforcement = limit::Enforcement::shadow;
  const Policy real = policy(AlgorithmKind::token_bucket, 4);
  const std::string shadow_key = key("shadow"), real_key = key("real");
  int passed = 0;
  for (int n = 0; n < 6; ++n) {
    Chain chain;
    chain.add(shadow, shadow_key).add(real, real_key);
    passed += decide(chain) ? 1 : 0;
    EXPECT_EQ(chain.verdict(0).within_limit, n < 2);
    EXPECT_EQ(chain.charged(0), n < 2);
  }
  EXPECT_EQ(passed, 4);
  EXPECT_EQ(left(shadow, shadow_key), 0);
}

TEST_P(CounterStoreContract, a_shadow_layer_is_not_charged_for_a_refused_request) {
  Policy shadow = policy(AlgorithmKind::fixed_window, 5);
  shadow.enforcement = limit::Enforcement::shadow;
  const Policy real = policy(AlgorithmKind::token_bucket, 1);
  const std::string shadow_key = key("shadow"), real_key = key("real");
  for (int n = 0; n < 4; ++n) {
    Chain chain;
    chain.add(shadow, shadow_key).add(real, real_key);
    decide(chain);
  }
  EXPECT_EQ(left(shadow, shadow_key), 4);
}

TEST_P(CounterStoreContract, relaxed_accounting_keeps_what_came_before_the_refusal) {
  const Policy wide = policy(AlgorithmKind::token_bucket, 10);
  const Policy narrow = policy(AlgorithmKind::token_bucket, 1);
  Policy shadow = wide;
  shadow.enforcement = limit::Enforcement::shadow;
  const std::string before = key("before"), refusing = key("refusing"), after = key("after");
  const std::string watching = key("watching");
  for (int n = 0; n < 3; ++n) {
    Chain chain(limit::Accounting::relaxed);
    chain.add(shadow, watching).add(wide, before).add(narrow, refusing).add(wide, after);
    EXPECT_EQ(decide(chain), n == 0);
    EXPECT_TRUE(chain.charged(1));
    EXPECT_EQ(chain.charged(2), n == 0);
    EXPECT_EQ(chain.charged(3), n == 0);
    EXPECT_TRUE(chain.verdict(3).within_limit);
  }
  EXPECT_EQ(left(wide, before), 7);
  EXPECT_EQ(left(narrow, refusing), 0);
  EXPECT_EQ(left(wide, after), 9);
  EXPECT_EQ(left(shadow, watching), 9);
}

TEST_P(CounterStoreContract, peek_changes_nothing) {
  for (const AlgorithmKind kind : all_kinds()) {
    const Policy terms = policy(kind, 3);
    const std::string counter = key("peek");
    for (int n = 0; n < 5; ++n) EXPECT_EQ(left(terms, counter), 3) << limit::name_of(kind);
    Chain chain;
    chain.add(terms, counter);
    EXPECT_TRUE(decide(chain));
    EXPECT_EQ(chain.verdict(0).remaining, 2);
    for (int n = 0; n < 5; ++n) EXPECT_EQ(left(terms, counter), 2) << limit::name_of(kind);
    Chain too_much;
    too_much.add(terms, counter, 4);
    EXPECT_FALSE(peek(too_much));
    EXPECT_EQ(too_much.verdict(0).retry_after_ms,
              kind == AlgorithmKind::leaky_bucket ? 20'000 : limit::kNever);
  }
}

TEST_P(CounterStoreContract, settle_adds_and_gives_back) {
  for (const AlgorithmKind kind : all_kinds()) {
    if (kind == AlgorithmKind::concurrency) continue;
    const Policy terms = policy(kind, 10);
    const std::string counter = key("settle");
    Chain chain;
    chain.add(terms, counter, 4);
    EXPECT_TRUE(decide(chain));
    EXPECT_EQ(left(terms, counter), 6) << limit::name_of(kind);
    store().settle(chain.set(), -3);
    world().finish();
    EXPECT_EQ(left(terms, counter), 9) << limit::name_of(kind);
    store().settle(chain.set(), 5);
    world().finish();
    EXPECT_EQ(left(terms, counter), 4) << limit::name_of(kind);
    store().settle(chain.set(), 7);
    world().finish();
    EXPECT_EQ(left(terms, counter), 0) << limit::name_of(kind);
  }
}

TEST_P(CounterStoreContract, a_refused_request_settles_nothing) {
  const Policy wide = policy(AlgorithmKind::token_bucket, 10),
               narrow = policy(AlgorithmKind::fixed_window, 1);
  const std::string wide_key = key("wide"), narrow_key = key("narrow");
  Chain chain;
  chain.add(wide, wide_key, 2).add(narrow, narrow_key, 2);
  EXPECT_FALSE(decide(chain));
  store().settle(chain.set(), 5);
  world().finish();
  EXPECT_EQ(left(wide, wide_key), 10);
  EXPECT_EQ(left(narrow, narrow_key), 1);
}

TEST_P(CounterStoreContract, slots_are_released_renewed_and_expire) {
  const Policy terms = policy(AlgorithmKind::concurrency, 2);
  const std::string counter = key("slots");
  Chain first, second, third;
  first.add(terms, counter).by_owner(1);
  second.add(terms, counter).by_owner(2);
  third.add(terms, counter).by_owner(3);
  EXPECT_TRUE(decide(first));
  EXPECT_TRUE(decide(second));
  EXPECT_FALSE(decide(third));
  store().release(first.set());
  store().release(first.set());
  world().finish();
  EXPECT_EQ(left(terms, counter), 1);
  EXPECT_TRUE(decide(third));

  world().set_now(kStart + 50'000);
  store().renew(second.set());
  world().finish();
  world().set_now(kStart + 60'000);
  EXPECT_EQ(left(terms, counter), 1) << "the third was not renewed";
  world().set_now(kStart + 110'000);
  EXPECT_EQ(left(terms, counter), 2);
  store().renew(third.set());
  world().finish();
  EXPECT_EQ(left(terms, counter), 1) << "a renewal brings an expired slot back";
}

TEST_P(CounterStoreContract, a_changed_limit_keeps_what_was_used) {
  for (const AlgorithmKind kind : all_kinds()) {
    if (kind == AlgorithmKind::concurrency) continue;
    const std::string counter = key("reload");
    const Policy before = policy(kind, 100), after = policy(kind, 50);
    Chain chain;
    chain.add(before, counter, 20);
    EXPECT_TRUE(decide(chain));
    EXPECT_EQ(left(after, counter), 30) << limit::name_of(kind);
    Chain again;
    again.add(after, counter, 1);
    EXPECT_TRUE(decide(again));
    EXPECT_EQ(again.verdict(0).limit, 50);
    EXPECT_EQ(left(before, counter), 79) << limit::name_of(kind);
  }
}

TEST_P(CounterStoreContract, a_clock_that_steps_back_neither_mints_nor_freezes) {
  for (const AlgorithmKind kind : all_kinds()) {
    if (kind == AlgorithmKind::concurrency || kind == AlgorithmKind::leaky_bucket) continue;
    const Policy terms = policy(kind, 10);
    const std::string counter = key("back");
    world().set_now(kStart);
    for (int n = 0; n < 10; ++n) {
      Chain chain;
      chain.add(terms, counter);
      EXPECT_TRUE(decide(chain));
    }
    const std::int64_t back = kStart - 3'600'000;
    world().set_now(back);
    Chain chain;
    chain.add(terms, counter);
    EXPECT_FALSE(decide(chain)) << limit::name_of(kind);
    world().set_now(back + 130'000);
    EXPECT_EQ(left(terms, counter), 10) << limit::name_of(kind);
  }
}

TEST_P(CounterStoreContract, says_when_it_decided) {
  const Policy terms = policy(AlgorithmKind::sliding_window, 10);
  const std::string counter = key("clock");
  world().set_now(kStart + 1234);
  Chain chain;
  chain.add(terms, counter);
  EXPECT_TRUE(decide(chain));
  EXPECT_EQ(chain.set().store_now_ms, kStart + 1234);
}

TEST_P(CounterStoreContract, one_key_is_one_counter_for_everybody) {
  const Policy terms = policy(AlgorithmKind::gcra, 3);
  const std::string counter = key("shared"), other = key("other");
  int passed = 0;
  for (int n = 0; n < 6; ++n) {
    Chain chain;
    chain.add(terms, counter);
    passed += decide(chain) ? 1 : 0;
  }
  EXPECT_EQ(passed, 3);
  EXPECT_EQ(left(terms, other), 3);
}

}  // namespace
}  // namespace weir::store
