// SPDX-License-Identifier: Apache-2.0
// One count per window. Word 0: the end of the window counted in; word 1: permits used in it.
#include <algorithm>

#include "limit/algorithm_table.hpp"
#include "limit/arithmetic.hpp"

namespace weir::limit {
namespace {

constexpr std::size_t kEnds = 0, kUsed = 1;

struct Window {
  std::int64_t ends;
  std::int64_t length;
  std::int64_t newest;  // the latest end that a small step back may have left behind
};

Window window_at(const Terms& terms, const Request& request) {
  if (!terms.calendar) {
    const std::int64_t shifted = request.now_ms + request.offset_ms;
    const std::int64_t width = terms.window_ms;
    const std::int64_t ends = floor_div(shifted, width) * width + width - request.offset_ms;
    return {ends, width, ends + width};
  }
  const auto& at = request.bounds.at;
  std::size_t i = 0;
  while (i < 2 && request.now_ms >= at[i + 1]) ++i;
  return {at[i + 1], at[i + 1] - at[i], at[3]};
}

bool roll(std::array<std::int64_t, 4>& word, const Window& window) {
  if (word[kEnds] == 0 || word[kEnds] < window.ends) {
    word[kEnds] = window.ends;
    word[kUsed] = 0;
    return false;
  }
  if (word[kEnds] <= window.newest) return false;
  word[kEnds] = window.ends;
  return true;
}

// At least 1: with bounds that are out of date the window may seem to be over.
std::int64_t left(std::int64_t ends, const Request& request) {
  return std::max<std::int64_t>(1, ends - request.now_ms);
}

Look judge(const CounterState& state, const Terms& terms, const Request& request) {
  Look look;
  look.next = state.word;
  look.repair = roll(look.next, window_at(terms, request));
  const std::int64_t used = look.next[kUsed];
  Verdict& verdict = look.verdict;
  verdict.limit = terms.limit;
  verdict.within_limit = request.cost <= terms.limit - used;
  verdict.remaining = std::max<std::int64_t>(0, terms.limit - used);
  const std::int64_t wait = left(look.next[kEnds], request);
  verdict.reset_ms = used > 0 ? wait : 0;
  if (!verdict.within_limit) verdict.retry_after_ms = request.cost > terms.limit ? kNever : wait;
  return look;
}

Verdict charge(CounterState& state, const Terms& terms, const Request& request, const Look& look) {
  state.word = look.next;
  const std::int64_t used = state.word[kUsed] += request.cost;
  Verdict verdict = look.verdict;
  verdict.remaining = std::max<std::int64_t>(0, terms.limit - used);
  verdict.reset_ms = used > 0 ? left(state.word[kEnds], request) : 0;
  return verdict;
}

void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t charged_at,
            std::int64_t delta) {
  const Window window = window_at(terms, request);
  roll(state.word, window);
  if (delta < 0 && charged_at < state.word[kEnds] - window.length) return;
  constexpr std::int64_t most = std::int64_t{1} << 60;
  state.word[kUsed] = std::clamp<std::int64_t>(state.word[kUsed] + std::clamp(delta, -most, most), 0, most);
}

// The offset is not needed (and the bounds may be missing): the end is part of the state.
Debt owed(const CounterState& state, const Terms& terms, const Request& request) {
  std::int64_t ends = state.word[kEnds];
  if (state.word[kUsed] <= 0 || ends <= request.now_ms) return {};
  const Window window = window_at(terms, request);
  if (window.ends > request.now_ms && ends > window.newest) ends = window.ends;
  return {state.word[kUsed], ends};
}

void restore(CounterState& state, const Terms& terms, const Request& request, const Debt& debt) {
  state.word = {window_at(terms, request).ends, debt.used, 0, 0};
}

}  // namespace

void recall_window(CounterState& state, const Terms& terms, const Request& request, std::int64_t used,
                   std::int64_t ends_ms) {
  roll(state.word, window_at(terms, request));
  if (state.word[kEnds] == ends_ms) state.word[kUsed] = std::max(state.word[kUsed], used);
}

const Algorithm kFixedWindow{AlgorithmKind::fixed_window,
                             "fixed_window",
                             judge,
                             charge,
                             write_words,
                             settle,
                             ignore_slot,
                             ignore_slot,
                             owed,
                             restore};

}  // namespace weir::limit
