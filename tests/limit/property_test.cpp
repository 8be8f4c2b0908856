// SPDX-License-Identifier: Apache-2.0
// What holds for every algorithm whatever the traffic, checked without the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "weir/limit/algorithm.hpp"

namespace weir::limit {
namespace {

using Random = std::mt19937_64;

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

Terms any_terms(Random& random, AlgorithmKind kind) {
  Terms terms;
  terms.algorithm = kind;
  terms.limit = between(random, 1, 40);
  terms.window_ms = between(random, 1000, 20'000);
  terms.burst = terms.limit;
  const bool bucket = kind == AlgorithmKind::token_bucket || kind == AlgorithmKind::gcra ||
                      kind == AlgorithmKind::leaky_bucket;
  if (bucket) terms.burst = between(random, 1, 60);
  if (kind == AlgorithmKind::leaky_bucket) terms.max_wait_ms = between(random, 0, 10'000);
  if (kind == AlgorithmKind::sliding_window) terms.cells = between(random, 2, 100);
  return terms;
}

Request any_request(Random& random, const Terms& terms) {
  Request request;
  request.now_ms = between(random, 1'700'000'000'000, 1'900'000'000'000);
  const AlgorithmKind kind = terms.algorithm;
  if (kind == AlgorithmKind::fixed_window || kind == AlgorithmKind::sliding_counter)
    request.offset_ms = between(random, 0, terms.window_ms - 1);
  return request;
}

CounterState copy(const CounterState& state) {
  CounterState result;
  result.word = state.word;
  if (state.more) result.more = std::make_unique<std::vector<std::int64_t>>(*state.more);
  return result;
}

class Property : public testing::TestWithParam<AlgorithmKind> {
 protected:
  const Algorithm& rules() const { return algorithm(GetParam()); }

  bool take(CounterState& state, const Terms& terms, const Request& request) const {
    const Look look = rules().judge(state, terms, request);
    if (look.verdict.within_limit) rules().charge(state, terms, request, look);
    return look.verdict.within_limit;
  }
  bool would_pass(const CounterState& state, const Terms& terms, Request request, std::int64_t after) const {
    request.now_ms += after;
    return rules().judge(state, terms, request).verdict.within_limit;
  }
  void walk(Random& random, CounterState& state, const Terms& terms, Request& request) const {
    const std::int64_t steps = between(random, 1, 60);
    for (std::int64_t n = 0; n < steps; ++n) {
      request.now_ms += between(random, 0, 2 * terms.window_ms / terms.limit);
      request.cost = between(random, 1, 3);
      request.owner = random() >> 12;
      take(state, terms, request);
    }
  }
};

// Of every algorithm but concurrency: when a slot comes free cannot be known.
class Waiting : public Property {};

TEST_P(Waiting, retry_after_is_the_smallest_wait_that_passes) {
  Random random(11);
  int checked = 0;
  while (checked < 3000) {
    const Terms terms = any_terms(random, GetParam());
    Request request = any_request(random, terms);
    CounterState state;
    walk(random, state, terms, request);
    request.cost = between(random, 1, std::max(terms.limit, terms.burst) + 2);
    const Verdict verdict = rules().judge(state, terms, request).verdict;
    EXPECT_GE(verdict.remaining, 0);
    EXPECT_LE(verdict.remaining, std::max(terms.limit, terms.burst));
    if (verdict.within_limit || verdict.retry_after_ms == kNever) continue;
    ++checked;
    ASSERT_GT(verdict.retry_after_ms, 0);
    ASSERT_TRUE(would_pass(state, terms, request, verdict.retry_after_ms));
    ASSERT_FALSE(would_pass(state, terms, request, verdict.retry_after_ms - 1));
  }
}

// Retry-After is sent in whole seconds, rounded up: a lone client that obeys it passes at once.
TEST_P(Waiting, a_lone_client_that_waits_whole_seconds_passes) {
  Random random(12);
  for (int round = 0; round < 300; ++round) {
    const Terms terms = any_terms(random, GetParam());
    Request request = any_request(random, terms);
    CounterState state;
    for (int n = 0; n < 200; ++n) {
      if (take(state, terms, request)) continue;
      const std::int64_t retry = rules().judge(state, terms, request).verdict.retry_after_ms;
      request.now_ms += (retry + 999) / 1000 * 1000;
      ASSERT_TRUE(take(state, terms, request));
    }
  }
}

TEST_P(Property, after_reset_the_counter_is_as_if_untouched) {
  Random random(13);
  for (int round = 0; round < 2000; ++round) {
    const Terms terms = any_terms(random, GetParam());
    Request request = any_request(random, terms);
    CounterState state;
    walk(random, state, terms, request);
    request.now_ms += rules().judge(state, terms, request).verdict.reset_ms;
    const Verdict rested = rules().judge(state, terms, request).verdict;
    ASSERT_EQ(rested.reset_ms, 0);
    ASSERT_EQ(rested.remaining, rules().judge({}, terms, request).verdict.remaining);
    ASSERT_EQ(rules().owed(state, terms, request).used, 0);
  }
}

// A counter that was dropped and made again from its debt never lets more pass than the counter itself would.
TEST_P(Property, a_restored_counter_is_never_fuller) {
  Random random(14);
  for (int round = 0; round < 2000; ++round) {
    const Terms terms = any_terms(random, GetParam());
    Request request = any_request(random, terms);
    CounterState kept;
    walk(random, kept, terms, request);
    const Debt debt = rules().owed(kept, terms, request);
    request.now_ms += between(random, 0, terms.window_ms);
    CounterState restored;
    if (debt.used > 0 && debt.until_ms > request.now_ms) rules().restore(restored, terms, request, debt);
    for (int n = 0; n < 20; ++n) {
      request.cost = between(random, 1, 3);
      const Verdict mine = rules().judge(restored, terms, request).verdict;
      const Verdict real = rules().judge(kept, terms, request).verdict;
      ASSERT_LE(mine.remaining, real.remaining);
      ASSERT_TRUE(!mine.within_limit || real.within_limit);
      request.now_ms += between(random, 0, terms.window_ms / 5);
    }
  }
}

TEST_P(Property, judging_changes_nothing) {
  Random random(15);
  const Terms terms = any_terms(random, GetParam());
  Request request = any_request(random, terms);
  CounterState state;
  walk(random, state, terms, request);
  const CounterState before = copy(state);
  for (int n = 0; n < 50; ++n) {
    request.now_ms += between(random, -3 * terms.window_ms, 3 * terms.window_ms);
    rules().judge(state, terms, request);
  }
  EXPECT_EQ(state.word, before.word);
  if (before.more) EXPECT_EQ(*state.more, *before.more);
}

// Whatever a configuration or a settled byte count comes to, nothing overflows (UBSan sees it) or goes out of
// range.
TEST_P(Property, extreme_numbers_stay_in_range) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  Random random(16);
  for (int round = 0; round < 200; ++round) {
    Terms terms = any_terms(random, GetParam());
    terms.window_ms = between(random, 1000, 2'678'400'000);
    if (GetParam() != AlgorithmKind::sliding_log) terms.limit = terms.burst = exact / terms.window_ms;
    Request request = any_request(random, terms);
    request.offset_ms %= terms.window_ms;
    request.owner = exact - 1;
    CounterState state;
    for (int n = 0; n < 30; ++n) {
      const std::int64_t step = between(random, -2, 2) * between(random, 0, 1'000'000'000'000);
      request.now_ms = std::clamp<std::int64_t>(request.now_ms + step, 0, exact);
      request.cost = n % 3 == 0 ? INT64_MAX / 2 : between(random, 1, terms.limit);
      take(state, terms, request);
      rules().settle(state, terms, request, request.now_ms, n % 2 == 0 ? INT64_MAX / 2 : -INT64_MAX / 2);
      const Verdict verdict = rules().judge(state, terms, request).verdict;
      ASSERT_GE(verdict.remaining, 0);
      ASSERT_LE(verdict.remaining, std::max(terms.limit, terms.burst));
      ASSERT_GE(verdict.reset_ms, 0);
      ASSERT_GE(verdict.retry_after_ms, kNever);
      rules().restore(state, terms, request, {exact, request.now_ms + exact});
      ASSERT_GE(rules().judge(state, terms, request).verdict.remaining, 0);
    }
  }
}

std::vector<AlgorithmKind> all() {
  std::vector<AlgorithmKind> kinds;
  for (std::size_t n = 0; n < kAlgorithmCount; ++n) kinds.push_back(static_cast<AlgorithmKind>(n));
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(limit, Property, testing::ValuesIn(all()),
                         [](const auto& each) { return std::string(name_of(each.param)); });

INSTANTIATE_TEST_SUITE_P(limit, Waiting, testing::ValuesIn([] {
                           std::vector<AlgorithmKind> kinds = all();
                           std::erase(kinds, AlgorithmKind::concurrency);
                           return kinds;
                         }()),
                         [](const auto& each) { return std::string(name_of(each.param)); });

class ExactWindow : public Property {};

// The two whose name promises it: no window of any phase holds more than the limit.
TEST_P(ExactWindow, no_window_ever_holds_more_than_the_limit) {
  Random random(17);
  for (int round = 0; round < 200; ++round) {
    const Terms terms = any_terms(random, GetParam());
    Request request = any_request(random, terms);
    request.cost = 1;
    CounterState state;
    std::vector<std::int64_t> passed;
    for (int n = 0; n < 600; ++n) {
      request.now_ms += between(random, 0, 3) == 0 ? between(random, 0, terms.window_ms / 3) : 0;
      if (take(state, terms, request)) passed.push_back(request.now_ms);
    }
    const auto limit = static_cast<std::size_t>(terms.limit);
    for (std::size_t n = limit; n < passed.size(); ++n)
      ASSERT_GE(passed[n] - passed[n - limit], terms.window_ms) << "more than " << limit << " in a window";
  }
}

INSTANTIATE_TEST_SUITE_P(limit, ExactWindow,
                         testing::Values(AlgorithmKind::sliding_window, AlgorithmKind::sliding_log),
                         [](const auto& each) { return std::string(name_of(each.param)); });

TEST(SlidingWindow, another_number_of_cells_keeps_what_was_used) {
  const Algorithm& rules = algorithm(AlgorithmKind::sliding_window);
  Terms terms{AlgorithmKind::sliding_window, 10, 60'000, 10, 0, 10, false};
  Request request;
  request.now_ms = 1'800'000'000'000;
  request.cost = 4;
  CounterState state;
  rules.charge(state, terms, request, rules.judge(state, terms, request));
  terms.cells = 100;
  request.now_ms += 10'000;
  EXPECT_EQ(rules.judge(state, terms, request).verdict.remaining, 6);
  EXPECT_EQ(rules.charge(state, terms, request, rules.judge(state, terms, request)).remaining, 2);
  request.now_ms += 61'000;
  EXPECT_EQ(rules.judge(state, terms, request).verdict.remaining, 10);
}

TEST(Algorithms, are_found_by_the_name_they_are_written_with) {
  for (const AlgorithmKind kind : all()) {
    EXPECT_EQ(algorithm(kind).kind, kind);
    EXPECT_EQ(algorithm(name_of(kind)), &algorithm(kind));
  }
  EXPECT_EQ(algorithm("bucket"), nullptr);
}

}  // namespace
}  // namespace weir::limit
