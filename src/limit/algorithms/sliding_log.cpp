// SPDX-License-Identifier: Apache-2.0
// One entry per permit: exact, and as large as the limit. `more` holds the times in ascending order.
#include <algorithm>

#include "limit/algorithm_table.hpp"

namespace weir::limit {
namespace {

using Times = std::vector<std::int64_t>;

const Times& times(const CounterState& state) {
  static const Times none;
  return state.more ? *state.more : none;
}

Times::const_iterator first_alive(const Times& log, const Terms& terms, const Request& request) {
  return std::upper_bound(log.begin(), log.end(), request.now_ms - terms.window_ms);
}

// Drops what is over; times ahead of the clock (it stepped back) become now.
Times& bring(CounterState& state, const Terms& terms, const Request& request) {
  if (!state.more) state.more = std::make_unique<Times>();
  Times& log = *state.more;
  log.erase(log.begin(), first_alive(log, terms, request));
  for (auto late = log.rbegin(); late != log.rend() && *late > request.now_ms; ++late) *late = request.now_ms;
  return log;
}

void read(Verdict& verdict, std::int64_t count, std::int64_t newest, const Terms& terms,
          const Request& request) {
  verdict.remaining = std::max<std::int64_t>(0, terms.limit - count);
  verdict.reset_ms = count > 0 ? newest + terms.window_ms - request.now_ms : 0;
}

Look judge(const CounterState& state, const Terms& terms, const Request& request) {
  const Times& log = times(state);
  const auto alive = first_alive(log, terms, request);
  const std::int64_t count = log.end() - alive;
  Look look;
  look.repair = !log.empty() && log.back() > request.now_ms;
  Verdict& verdict = look.verdict;
  verdict.limit = terms.limit;
  read(verdict, count, count > 0 ? std::min(log.back(), request.now_ms) : 0, terms, request);
  verdict.within_limit = request.cost <= terms.limit - count;
  if (verdict.within_limit) return look;
  if (request.cost > terms.limit) {
    verdict.retry_after_ms = kNever;
    return look;
  }
  const std::int64_t in_the_way = alive[count + request.cost - terms.limit - 1];
  verdict.retry_after_ms = std::min(in_the_way, request.now_ms) + terms.window_ms - request.now_ms;
  return look;
}

Verdict charge(CounterState& state, const Terms& terms, const Request& request, const Look& look) {
  Times& log = bring(state, terms, request);
  log.insert(log.end(), static_cast<std::size_t>(request.cost), request.now_ms);
  Verdict verdict = look.verdict;
  read(verdict, static_cast<std::int64_t>(log.size()), log.empty() ? 0 : log.back(), terms, request);
  return verdict;
}

void repair(CounterState& state, const Terms& terms, const Request& request, const Look&) {
  bring(state, terms, request);
}

void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t charged_at,
            std::int64_t delta) {
  Times& log = bring(state, terms, request);
  if (delta > 0) {
    // More than `limit` entries of one moment say no more than limit + 1: all is refused until it is over.
    log.insert(log.end(), static_cast<std::size_t>(std::min(delta, terms.limit + 1)), request.now_ms);
    return;
  }
  const auto [first, last] = std::equal_range(log.begin(), log.end(), charged_at);
  const auto end = last - first > -delta ? first - delta : last;
  log.erase(first, end);
}

Debt owed(const CounterState& state, const Terms& terms, const Request& request) {
  const Times& log = times(state);
  const std::int64_t count = log.end() - first_alive(log, terms, request);
  if (count == 0) return {};
  return {count, std::min(log.back(), request.now_ms) + terms.window_ms};
}

void restore(CounterState& state, const Terms& terms, const Request& request, const Debt& debt) {
  const std::int64_t count = std::min(debt.used, terms.limit);
  const std::int64_t when = std::min(request.now_ms, debt.until_ms - terms.window_ms);
  state.more = std::make_unique<Times>(static_cast<std::size_t>(count), when);
}

}  // namespace

const Algorithm kSlidingLog{AlgorithmKind::sliding_log,
                            "sliding_log",
                            judge,
                            charge,
                            repair,
                            settle,
                            ignore_slot,
                            ignore_slot,
                            owed,
                            restore};

}  // namespace weir::limit
