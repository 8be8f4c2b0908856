// SPDX-License-Identifier: Apache-2.0
// The C++ algorithms against the oracle, step for step, over random traces.
#include <gtest/gtest.h>

#include "limit/trace_reader.hpp"

namespace weir::limit {
namespace {

// One counter as a store would treat it.
class Counter {
 public:
  explicit Counter(const Algorithm& algorithm) : algorithm_(algorithm) {}

  void forget() { state_ = {}; }

  Verdict apply(const Step& step) {
    const Terms& terms = step.terms;
    const Request& request = step.request;
    if (step.op == "take") return take(terms, request);
    if (step.op == "peek") return algorithm_.judge(state_, terms, request).verdict;
    if (step.op == "settle") algorithm_.settle(state_, terms, request, step.charged_at, step.delta);
    if (step.op == "release") algorithm_.release(state_, terms, request);
    if (step.op == "renew") algorithm_.renew(state_, terms, request);
    Request after = request;
    after.cost = 0;
    if (step.op == "evict") {
      after.now_ms = step.back;
      evict(step, after);
    }
    return algorithm_.judge(state_, terms, after).verdict;
  }

 private:
  Verdict take(const Terms& terms, const Request& request) {
    const Look look = algorithm_.judge(state_, terms, request);
    if (look.verdict.within_limit) return algorithm_.charge(state_, terms, request, look);
    if (look.repair) algorithm_.repair(state_, terms, request, look);
    return look.verdict;
  }

  void evict(const Step& step, const Request& back) {
    const Debt debt = algorithm_.owed(state_, step.terms, step.request);
    EXPECT_EQ(debt.used, step.want_debt.used) << step.line;
    EXPECT_EQ(debt.until_ms, step.want_debt.until_ms) << step.line;
    state_ = {};
    if (debt.used > 0 && debt.until_ms > back.now_ms) algorithm_.restore(state_, step.terms, back, debt);
  }

  const Algorithm& algorithm_;
  CounterState state_;
};

bool operator==(const Verdict& a, const Verdict& b) {
  return a.within_limit == b.within_limit && a.limit == b.limit && a.remaining == b.remaining &&
         a.retry_after_ms == b.retry_after_ms && a.reset_ms == b.reset_ms && a.wait_ms == b.wait_ms;
}

std::string text(const Verdict& verdict) {
  return "within " + std::to_string(verdict.within_limit) + " limit " + std::to_string(verdict.limit) +
         " remaining " + std::to_string(verdict.remaining) + " retry " +
         std::to_string(verdict.retry_after_ms) + " reset " + std::to_string(verdict.reset_ms) + " wait " +
         std::to_string(verdict.wait_ms);
}

class Parity : public testing::TestWithParam<AlgorithmKind> {};

TEST_P(Parity, same_verdicts_as_the_oracle) {
  constexpr int kSteps = 50'000;
  const Algorithm& under_test = algorithm(GetParam());
  for (const char* seed : {"1", "2"}) {
    TraceReader trace(std::string(under_test.name), seed, kSteps);
    Counter counter(under_test);
    Step step;
    std::int64_t key = -1;
    int steps = 0;
    for (; trace.next(step); ++steps) {
      step.terms.algorithm = GetParam();
      if (step.key != key) counter.forget();
      key = step.key;
      const Verdict verdict = counter.apply(step);
      ASSERT_TRUE(verdict == step.want) << step.line << "got " << text(verdict);
      if (HasFailure()) return;
    }
    ASSERT_EQ(steps, kSteps) << "the oracle stopped early";
  }
}

std::vector<AlgorithmKind> all() {
  std::vector<AlgorithmKind> kinds;
  for (std::size_t n = 0; n < kAlgorithmCount; ++n) kinds.push_back(static_cast<AlgorithmKind>(n));
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(limit, Parity, testing::ValuesIn(all()),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace weir::limit
