// SPDX-License-Identifier: Apache-2.0
// N cells of window / N each, and one more: a permit counts until its whole cell is a window old, so that no
// window of any phase ever holds more than the limit.
//
// Word 0: number of the newest cell (time / width); word 1: N; word 2: the sum of all cells; word 3: where in
// `more` the newest cell is. `more` is a ring of N + 1 counts; the cell of age a (0 = newest) is a places
// before it.
#include <algorithm>

#include "limit/algorithm_table.hpp"
#include "limit/arithmetic.hpp"

namespace weir::limit {
namespace {

constexpr std::size_t kTop = 0, kCells = 1, kSum = 2, kHead = 3;

std::int64_t width_of(const Terms& terms) {
  return ceil_div(terms.window_ms, terms.cells);
}

std::size_t place(const CounterState& state, std::int64_t age) {
  const std::int64_t at = state.word[kHead] - age;
  return static_cast<std::size_t>(at >= 0 ? at : at + state.word[kCells] + 1);
}

std::int64_t count_at(const CounterState& state, std::int64_t age) {
  return (*state.more)[place(state, age)];
}

// A state as seen at `now`: every stored cell is `shift` cells older than when it was written.
struct View {
  std::int64_t width;
  std::int64_t top;
  std::int64_t shift = 0;
  std::int64_t sum = 0;
  bool repair = false;
};

View view_at(const CounterState& state, const Terms& terms, const Request& request) {
  const std::int64_t width = width_of(terms);
  const std::int64_t cell = floor_div(request.now_ms, width);
  View view{width, cell};
  if (!state.more) return view;
  const std::int64_t top = state.word[kTop];
  view.sum = state.word[kSum];
  if (cell == top - 1) view.top = top;  // a small step back: go on in the newer cell
  view.repair = cell < top - 1;         // a large one: keep every cell's age
  if (cell <= top) return view;
  view.shift = std::min(cell - top, terms.cells + 1);
  if (view.shift > terms.cells) {
    view.sum = 0;
    return view;
  }
  for (std::int64_t gone = 0; gone < view.shift; ++gone) view.sum -= count_at(state, terms.cells - gone);
  return view;
}

// Writes the view into the state.
void advance(CounterState& state, const Terms& terms, const View& view) {
  if (!state.more) {
    state.more = std::make_unique<std::vector<std::int64_t>>(static_cast<std::size_t>(terms.cells + 1));
    state.word = {view.top, terms.cells, 0, 0};
    return;
  }
  for (std::int64_t step = 0; step < view.shift; ++step) {
    state.word[kHead] = state.word[kHead] == terms.cells ? 0 : state.word[kHead] + 1;
    (*state.more)[static_cast<std::size_t>(state.word[kHead])] = 0;
  }
  state.word[kTop] = view.top;
  state.word[kSum] = view.sum;
}

Debt owed(const CounterState& state, const Terms& terms, const Request& request);
void restore(CounterState& state, const Terms& terms, const Request& request, const Debt& debt);

// A reload changed the number of cells: what was used moves on as one debt, which is never fuller.
bool reshape(CounterState& reshaped, const CounterState& state, const Terms& terms, const Request& request) {
  if (!state.more || state.word[kCells] == terms.cells) return false;
  Terms before = terms;
  before.cells = state.word[kCells];
  const Debt debt = owed(state, before, request);
  if (debt.used > 0) restore(reshaped, terms, request, debt);
  return true;
}

void reshape_in_place(CounterState& state, const Terms& terms, const Request& request) {
  CounterState reshaped;
  if (reshape(reshaped, state, terms, request)) state = std::move(reshaped);
}

// When the cell of this age (as of the view) stops counting.
std::int64_t until_gone(const View& view, std::int64_t age, const Terms& terms, const Request& request) {
  return (view.top - age + terms.cells + 1) * view.width - request.now_ms;
}

std::int64_t retry_after(const CounterState& state, const View& view, const Terms& terms,
                         const Request& request) {
  std::int64_t left = view.sum;
  for (std::int64_t age = terms.cells; age >= view.shift; --age) {
    const std::int64_t count = count_at(state, age - view.shift);
    left -= count;
    if (count > 0 && left + request.cost <= terms.limit) return until_gone(view, age, terms, request);
  }
  return kNever;
}

std::int64_t newest_age(const CounterState& state, const View& view) {
  std::int64_t age = view.shift;
  while (count_at(state, age - view.shift) == 0) ++age;
  return age;
}

Look judge(const CounterState& given, const Terms& terms, const Request& request) {
  CounterState reshaped;
  const CounterState& state = reshape(reshaped, given, terms, request) ? reshaped : given;
  const View view = view_at(state, terms, request);
  Look look;
  look.repair = view.repair;
  look.next = {view.width, view.top, view.shift, view.sum};
  Verdict& verdict = look.verdict;
  verdict.limit = terms.limit;
  verdict.remaining = std::max<std::int64_t>(0, terms.limit - view.sum);
  if (view.sum > 0) verdict.reset_ms = until_gone(view, newest_age(state, view), terms, request);
  verdict.within_limit = request.cost <= terms.limit - view.sum;
  if (!verdict.within_limit)
    verdict.retry_after_ms = request.cost > terms.limit ? kNever : retry_after(state, view, terms, request);
  return look;
}

Verdict charge(CounterState& state, const Terms& terms, const Request& request, const Look& look) {
  reshape_in_place(state, terms, request);
  const View view{look.next[0], look.next[1], look.next[2], look.next[3], look.repair};
  advance(state, terms, view);
  Verdict verdict = look.verdict;
  if (request.cost == 0) return verdict;
  (*state.more)[place(state, 0)] += request.cost;
  state.word[kSum] += request.cost;
  verdict.remaining = std::max<std::int64_t>(0, terms.limit - state.word[kSum]);
  verdict.reset_ms = until_gone(view, 0, terms, request);
  return verdict;
}

void repair(CounterState& state, const Terms& terms, const Request& request, const Look&) {
  reshape_in_place(state, terms, request);
  advance(state, terms, view_at(state, terms, request));
}

void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t charged_at,
            std::int64_t delta) {
  reshape_in_place(state, terms, request);
  const View view = view_at(state, terms, request);
  advance(state, terms, view);
  const std::int64_t cell = delta > 0 ? view.top : floor_div(charged_at, view.width);
  const std::int64_t age = view.top - cell;
  if (age < 0 || age > terms.cells) return;
  constexpr std::int64_t most = std::int64_t{1} << 55;  // the sum of 101 cells fits
  std::int64_t& count = (*state.more)[place(state, age)];
  const std::int64_t before = count;
  count = std::clamp<std::int64_t>(before + std::clamp(delta, -most, most), 0, most);
  state.word[kSum] += count - before;
}

Debt owed(const CounterState& state, const Terms& terms, const Request& request) {
  if (!state.more) return {};
  Terms written = terms;
  written.cells = state.word[kCells];
  const View view = view_at(state, written, request);
  if (view.sum == 0) return {};
  const std::int64_t left = until_gone(view, newest_age(state, view), written, request);
  return {view.sum, request.now_ms + left};
}

void restore(CounterState& state, const Terms& terms, const Request& request, const Debt& debt) {
  const std::int64_t width = width_of(terms);
  const std::int64_t top = floor_div(request.now_ms, width);
  advance(state, terms, View{width, top});
  const std::int64_t cell = ceil_div(debt.until_ms, width) - terms.cells - 1;
  const std::int64_t age = std::clamp<std::int64_t>(top - cell, 0, terms.cells);
  const std::int64_t used = std::min(debt.used, std::int64_t{1} << 55);
  (*state.more)[place(state, age)] = used;
  state.word[kSum] = used;
}

}  // namespace

const Algorithm kSlidingWindow{AlgorithmKind::sliding_window,
                               "sliding_window",
                               judge,
                               charge,
                               repair,
                               settle,
                               ignore_slot,
                               ignore_slot,
                               owed,
                               restore};

}  // namespace weir::limit
