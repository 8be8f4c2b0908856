// SPDX-License-Identifier: Apache-2.0
// Generic cell rate algorithm, as a debt: one permit is window_ms units, `limit` units are paid back each ms.
// Word 0: the theoretical arrival time, when the debt is paid but for less than one ms; word 1: that rest in
// units; word 2: the limit it was written with (0: a fresh counter), so that a reload keeps the debt, also
// one above a lowered burst; word 3: when it was written. A clock that stepped back behind that pays nothing
// back.
#include <algorithm>

#include "limit/algorithm_table.hpp"
#include "limit/arithmetic.hpp"

namespace weir::limit {
namespace {

constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;
constexpr std::size_t kArrival = 0, kRest = 1, kRate = 2, kWritten = 3;

// At most what was owed when it was written: never more than a capacity, so no product overflows.
std::int64_t owing(const std::array<std::int64_t, 4>& word, std::int64_t now) {
  if (word[kRate] == 0) return 0;
  const std::int64_t ahead = word[kArrival] - std::max(now, word[kWritten]);
  return ahead < 0 ? 0 : ahead * word[kRate] + word[kRest];
}

std::array<std::int64_t, 4> pack(std::int64_t units, const Terms& terms, std::int64_t now) {
  return {now + units / terms.limit, units % terms.limit, terms.limit, now};
}

void read(Verdict& verdict, std::int64_t units, const Terms& terms) {
  verdict.remaining = std::max<std::int64_t>(0, terms.burst * terms.window_ms - units) / terms.window_ms;
  verdict.reset_ms = ceil_div(units, terms.limit);
}

Look judge(const CounterState& state, const Terms& terms, const Request& request) {
  const std::int64_t cap = terms.burst * terms.window_ms;
  const std::int64_t units = owing(state.word, request.now_ms);
  Look look;
  look.repair = request.now_ms < state.word[kWritten];
  look.next = pack(units, terms, request.now_ms);
  Verdict& verdict = look.verdict;
  verdict.limit = terms.limit;
  read(verdict, units, terms);
  if (request.cost > terms.burst) {
    verdict.within_limit = false;
    verdict.retry_after_ms = kNever;
    return look;
  }
  const std::int64_t over = units + request.cost * terms.window_ms - cap;
  verdict.within_limit = over <= 0;
  if (!verdict.within_limit) verdict.retry_after_ms = ceil_div(over, terms.limit);
  return look;
}

Verdict charge(CounterState& state, const Terms& terms, const Request& request, const Look& look) {
  const std::int64_t before = (look.next[kArrival] - request.now_ms) * terms.limit + look.next[kRest];
  const std::int64_t units = before + request.cost * terms.window_ms;
  state.word = pack(units, terms, request.now_ms);
  Verdict verdict = look.verdict;
  read(verdict, units, terms);
  return verdict;
}

void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t,
            std::int64_t delta) {
  const std::int64_t cap = terms.burst * terms.window_ms;
  const std::int64_t before = owing(state.word, request.now_ms);
  const std::int64_t most = kMaxExact / terms.window_ms;  // more than any debt, and its product fits
  const std::int64_t units = before + std::clamp(delta, -most, most) * terms.window_ms;
  state.word = pack(std::clamp<std::int64_t>(units, 0, std::max(cap, before)), terms, request.now_ms);
}

Debt owed(const CounterState& state, const Terms& terms, const Request& request) {
  const std::int64_t units = owing(state.word, request.now_ms);
  if (units == 0) return {};
  return {ceil_div(units, terms.window_ms), request.now_ms + ceil_div(units, terms.limit)};
}

void restore(CounterState& state, const Terms& terms, const Request& request, const Debt& debt) {
  std::int64_t units = std::min(debt.used, terms.burst) * terms.window_ms;
  const std::int64_t left = debt.until_ms - request.now_ms;
  if (left < ceil_div(units, terms.limit)) units = std::min(units, left * terms.limit);
  state.word = pack(units, terms, request.now_ms);
}

}  // namespace

const Algorithm kGcra{AlgorithmKind::gcra, "gcra",      judge, charge, write_words, settle,
                      ignore_slot,         ignore_slot, owed,  restore};

}  // namespace weir::limit
