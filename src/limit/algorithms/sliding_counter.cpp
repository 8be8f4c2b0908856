// SPDX-License-Identifier: Apache-2.0
// Two buckets: the last window's count fades out linearly while this one's fills.
// Word 0: the end of the current window; word 1: the count of the window before; word 2: the current count.
#include <algorithm>

#include "limit/algorithm_table.hpp"
#include "limit/arithmetic.hpp"

namespace weir::limit {
namespace {

constexpr std::size_t kEnds = 0, kPrev = 1, kCur = 2;

std::int64_t end_at(const Terms& terms, const Request& request) {
  const std::int64_t width = terms.window_ms;
  return floor_div(request.now_ms + request.offset_ms, width) * width + width - request.offset_ms;
}

bool roll(std::array<std::int64_t, 4>& word, std::int64_t ends, std::int64_t width) {
  if (word[kEnds] == ends) return false;
  if (word[kEnds] > ends) {
    if (word[kEnds] <= ends + width) return false;
    word[kEnds] = ends;
    return true;
  }
  const bool adjacent = word[kEnds] != 0 && word[kEnds] == ends - width;
  word = {ends, adjacent ? word[kCur] : 0, 0, 0};
  return false;
}

struct Phase {
  std::int64_t ahead;    // until the window begins, if the clock is behind it
  std::int64_t elapsed;  // in the window, 0 .. width - 1
};

Phase phase(const std::array<std::int64_t, 4>& word, std::int64_t width, std::int64_t now) {
  const std::int64_t start = word[kEnds] - width;
  return {std::max<std::int64_t>(0, start - now), std::clamp<std::int64_t>(now - start, 0, width - 1)};
}

// The smallest wait after which `cost` fits: while the older count fades if that suffices, else in the next
// window, where the current count is the older one.
std::int64_t retry_after(const std::array<std::int64_t, 4>& word, const Terms& terms, std::int64_t cost,
                         const Phase& at) {
  const std::int64_t width = terms.window_ms;
  if (cost > terms.limit) return kNever;
  const std::int64_t room = terms.limit - cost - word[kCur];
  if (room >= 0 && word[kPrev] > 0) {
    const std::int64_t need = width - room * width / word[kPrev];
    if (need < width) return at.ahead + need - at.elapsed;
  }
  std::int64_t later = 0;
  if (word[kCur] > 0) later = std::max<std::int64_t>(0, width - (terms.limit - cost) * width / word[kCur]);
  return at.ahead + width - at.elapsed + later;
}

void read(Verdict& verdict, const std::array<std::int64_t, 4>& word, const Terms& terms, const Phase& at) {
  const std::int64_t width = terms.window_ms;
  const std::int64_t room = (terms.limit - word[kCur]) * width - word[kPrev] * (width - at.elapsed);
  verdict.remaining = std::max<std::int64_t>(0, floor_div(room, width));
  verdict.reset_ms = word[kCur] > 0    ? at.ahead + 2 * width - at.elapsed
                     : word[kPrev] > 0 ? at.ahead + width - at.elapsed
                                       : 0;
}

Look judge(const CounterState& state, const Terms& terms, const Request& request) {
  Look look;
  look.next = state.word;
  look.repair = roll(look.next, end_at(terms, request), terms.window_ms);
  const std::int64_t width = terms.window_ms;
  const Phase at = phase(look.next, width, request.now_ms);
  look.verdict.limit = terms.limit;
  read(look.verdict, look.next, terms, at);
  // A cost above the limit never fits, and its product might not either.
  const std::int64_t faded = look.next[kPrev] * (width - at.elapsed);
  look.verdict.within_limit =
      request.cost <= terms.limit && faded + look.next[kCur] * width <= (terms.limit - request.cost) * width;
  if (!look.verdict.within_limit)
    look.verdict.retry_after_ms = retry_after(look.next, terms, request.cost, at);
  return look;
}

Verdict charge(CounterState& state, const Terms& terms, const Request& request, const Look& look) {
  state.word = look.next;
  state.word[kCur] += request.cost;
  Verdict verdict = look.verdict;
  read(verdict, state.word, terms, phase(state.word, terms.window_ms, request.now_ms));
  return verdict;
}

void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t charged_at,
            std::int64_t delta) {
  const std::int64_t width = terms.window_ms;
  roll(state.word, end_at(terms, request), width);
  const std::int64_t start = state.word[kEnds] - width;
  std::size_t into = kCur;
  if (delta < 0 && charged_at < start) into = kPrev;
  if (delta < 0 && charged_at < start - width) return;
  // Both counts times the window stay far within 64 bits.
  const std::int64_t most = (std::int64_t{1} << 60) / width;
  state.word[into] = std::clamp<std::int64_t>(state.word[into] + std::clamp(delta, -most, most), 0, most);
}

// Rolls by the end in the state; needs no offset.
Debt owed(const CounterState& state, const Terms& terms, const Request& request) {
  std::array<std::int64_t, 4> word = state.word;
  const std::int64_t width = terms.window_ms;
  if (word[kEnds] == 0) return {};
  if (word[kEnds] > request.now_ms + 2 * width) roll(word, end_at(terms, request), width);
  if (word[kEnds] <= request.now_ms) {
    const bool adjacent = request.now_ms < word[kEnds] + width;
    word = {word[kEnds] + width, adjacent ? word[kCur] : 0, 0, 0};
  }
  const std::int64_t used = word[kPrev] + word[kCur];
  if (used == 0) return {};
  return {used, word[kCur] > 0 ? word[kEnds] + width : word[kEnds]};
}

void restore(CounterState& state, const Terms& terms, const Request& request, const Debt& debt) {
  const std::int64_t ends = end_at(terms, request);
  const std::int64_t used = std::min(debt.used, (std::int64_t{1} << 60) / terms.window_ms);
  const bool fading = debt.until_ms <= ends;
  state.word = {ends, fading ? used : 0, fading ? 0 : used, 0};
}

}  // namespace

const Algorithm kSlidingCounter{AlgorithmKind::sliding_counter,
                                "sliding_counter",
                                judge,
                                charge,
                                write_words,
                                settle,
                                ignore_slot,
                                ignore_slot,
                                owed,
                                restore};

}  // namespace weir::limit
