// SPDX-License-Identifier: Apache-2.0
// Decisions put together by hand, for tests of what is made of them.
#pragma once

#include <deque>

#include "weir/limit/decision.hpp"

namespace weir::pipeline::test {

// A set of answered charges; layers are added in chain order.
class Decided {
 public:
  limit::Charge& add(const char* layer, limit::Terms terms, limit::Verdict verdict) {
    limit::Policy& policy = policies_.emplace_back();
    policy.layer = layer;
    policy.terms = terms;
    limit::Charge& charge = set.charge[set.size++];
    charge.policy = &policy;
    charge.verdict = verdict;
    charge.verdict.limit = terms.limit;
    return charge;
  }
  limit::Decision conclude() const { return limit::conclude(set); }

  limit::ChargeSet set;

 private:
  std::deque<limit::Policy> policies_;
};

inline limit::Terms terms(limit::AlgorithmKind kind, std::int64_t limit_, std::int64_t window_ms) {
  limit::Terms result;
  result.algorithm = kind;
  result.limit = limit_;
  result.window_ms = window_ms;
  result.burst = limit_;
  return result;
}

inline limit::Verdict passed(std::int64_t remaining, std::int64_t reset_ms) {
  limit::Verdict verdict;
  verdict.remaining = remaining;
  verdict.reset_ms = reset_ms;
  return verdict;
}

inline limit::Verdict refused(std::int64_t retry_after_ms, std::int64_t reset_ms) {
  limit::Verdict verdict;
  verdict.within_limit = false;
  verdict.retry_after_ms = retry_after_ms;
  verdict.reset_ms = reset_ms;
  return verdict;
}

}  // namespace weir::pipeline::test
