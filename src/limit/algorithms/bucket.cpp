// SPDX-License-Identifier: Apache-2.0
#include "limit/algorithms/bucket.hpp"

#include <algorithm>

#include "limit/arithmetic.hpp"

namespace weir::limit::bucket {
namespace {

constexpr std::size_t kLevel = 0, kWhen = 1, kBurst = 2;
constexpr std::int64_t kMostUnits = std::int64_t{1} << 60;  // far beyond any level; sums of two fit

bool refill(std::array<std::int64_t, 4>& word, const Terms& terms, std::int64_t now) {
  const std::int64_t unit = terms.window_ms;
  const std::int64_t cap = terms.burst * unit;
  if (word[kBurst] == 0) {
    word = {cap, now, terms.burst, 0};
    return false;
  }
  if (word[kBurst] != terms.burst) {
    // A reload keeps what was used; a smaller burst alone puts nobody into debt.
    const std::int64_t moved = word[kLevel] + (terms.burst - word[kBurst]) * unit;
    word[kLevel] = std::min(cap, std::max(moved, std::min<std::int64_t>(word[kLevel], 0)));
    word[kBurst] = terms.burst;
  }
  const std::int64_t elapsed = now - word[kWhen];
  word[kWhen] = now;
  if (elapsed < 0) return true;
  std::int64_t gain = 0;  // a key idle for ages is full, whatever 64 bits can hold
  const bool beyond = __builtin_mul_overflow(elapsed, terms.limit, &gain);
  word[kLevel] = beyond || gain >= cap - word[kLevel] ? cap : word[kLevel] + gain;
  return false;
}

void read(Verdict& verdict, std::int64_t level, const Terms& terms) {
  const std::int64_t unit = terms.window_ms;
  verdict.remaining = level > 0 ? level / unit : 0;
  verdict.reset_ms = ceil_div(terms.burst * unit - level, terms.limit);
}

}  // namespace

Look judge(const CounterState& state, const Terms& terms, const Request& request, std::int64_t queue) {
  Look look;
  look.next = state.word;
  look.repair = refill(look.next, terms, request.now_ms);
  const std::int64_t level = look.next[kLevel];
  const std::int64_t unit = terms.window_ms;
  Verdict& verdict = look.verdict;
  verdict.limit = terms.limit;
  read(verdict, level, terms);
  if (request.cost > terms.burst + queue) {
    verdict.within_limit = false;
    verdict.retry_after_ms = kNever;
    return look;
  }
  const std::int64_t after = level - request.cost * unit;
  verdict.within_limit = after >= -queue * unit;
  if (!verdict.within_limit)
    verdict.retry_after_ms = ceil_div(-after - queue * unit, terms.limit);
  else if (after < 0)
    verdict.wait_ms = ceil_div(-after, terms.limit);
  return look;
}

Verdict charge(CounterState& state, const Terms& terms, const Request& request, const Look& look) {
  state.word = look.next;
  state.word[kLevel] -= request.cost * terms.window_ms;
  Verdict verdict = look.verdict;
  read(verdict, state.word[kLevel], terms);
  return verdict;
}

void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t queue,
            std::int64_t delta) {
  refill(state.word, terms, request.now_ms);
  const std::int64_t cap = terms.burst * terms.window_ms;
  const std::int64_t lowest = -(cap + queue * terms.window_ms);
  const std::int64_t most = kMostUnits / terms.window_ms;
  const std::int64_t units = std::clamp(delta, -most, most) * terms.window_ms;
  state.word[kLevel] = std::clamp(state.word[kLevel] - units, lowest, cap);
}

Debt owed(const CounterState& state, const Terms& terms, const Request& request) {
  std::array<std::int64_t, 4> word = state.word;
  refill(word, terms, request.now_ms);
  const std::int64_t missing = terms.burst * terms.window_ms - word[kLevel];
  if (missing <= 0) return {};
  return {ceil_div(missing, terms.window_ms), request.now_ms + ceil_div(missing, terms.limit)};
}

void restore(CounterState& state, const Terms& terms, const Request& request, const Debt& debt) {
  const std::int64_t cap = terms.burst * terms.window_ms;
  std::int64_t missing = std::min(debt.used, kMostUnits / terms.window_ms) * terms.window_ms;
  const std::int64_t left = debt.until_ms - request.now_ms;
  if (left < ceil_div(missing, terms.limit)) missing = std::min(missing, left * terms.limit);
  state.word = {cap - missing, request.now_ms, terms.burst, 0};
}

}  // namespace weir::limit::bucket
