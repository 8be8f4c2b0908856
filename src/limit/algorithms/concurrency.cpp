// SPDX-License-Identifier: Apache-2.0
// Permits in flight. Each is a slot of an owner; a slot that nobody renews expires after window_ms, so that a
// process that died gives its permits back.
//
// `more` holds triples (owner, count, expires) in the order of owners. Word 0: sum of all counts; word 1: a
// time before which none expires; word 2: the latest expiry. Most requests need only the words.
#include <algorithm>

#include "limit/algorithm_table.hpp"

namespace weir::limit {
namespace {

constexpr std::size_t kBusy = 0, kEarliest = 1, kLatest = 2;
constexpr std::int64_t kRetryMs = 1000;  // when a slot comes free cannot be known

struct Slot {
  std::int64_t owner;
  std::int64_t count;
  std::int64_t expires;
};
constexpr std::size_t kSlotWords = 3;

Slot slot_at(const CounterState& state, std::size_t n) {
  const std::int64_t* words = state.more->data() + n * kSlotWords;
  return {words[0], words[1], words[2]};
}

void put(CounterState& state, std::size_t n, const Slot& slot) {
  std::int64_t* words = state.more->data() + n * kSlotWords;
  words[0] = slot.owner;
  words[1] = slot.count;
  words[2] = slot.expires;
}

std::size_t size(const CounterState& state) {
  return state.more ? state.more->size() / kSlotWords : 0;
}

// The first slot whose owner is not below `owner`.
std::size_t position(const CounterState& state, std::int64_t owner) {
  std::size_t low = 0;
  std::size_t high = size(state);
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (slot_at(state, middle).owner < owner)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

struct Summary {
  std::int64_t busy = 0;
  std::int64_t earliest = 0;
  std::int64_t latest = 0;
  bool repair = false;
};

bool words_hold(const CounterState& state, const Terms& terms, const Request& request) {
  return state.word[kEarliest] > request.now_ms && state.word[kLatest] <= request.now_ms + terms.window_ms;
}

void add(Summary& summary, const Slot& slot) {
  summary.earliest = summary.busy == 0 ? slot.expires : std::min(summary.earliest, slot.expires);
  summary.latest = std::max(summary.latest, slot.expires);
  summary.busy += slot.count;
}

Summary look_at(const CounterState& state, const Terms& terms, const Request& request) {
  if (words_hold(state, terms, request))
    return {state.word[kBusy], state.word[kEarliest], state.word[kLatest], false};
  Summary summary;
  const std::int64_t last = request.now_ms + terms.window_ms;
  for (std::size_t n = 0; n < size(state); ++n) {
    Slot slot = slot_at(state, n);
    if (slot.expires <= request.now_ms) continue;
    summary.repair = summary.repair || slot.expires > last;
    slot.expires = std::min(slot.expires, last);
    add(summary, slot);
  }
  return summary;
}

void write(CounterState& state, const Summary& summary) {
  state.word = {summary.busy, summary.earliest, summary.latest, 0};
}

void recount(CounterState& state) {
  Summary summary;
  for (std::size_t n = 0; n < size(state); ++n) add(summary, slot_at(state, n));
  write(state, summary);
}

// Drops expired slots; a life longer than the window (the clock stepped back) is cut to it.
void bring(CounterState& state, const Terms& terms, const Request& request) {
  if (!state.more) state.more = std::make_unique<std::vector<std::int64_t>>();
  if (words_hold(state, terms, request)) return;
  std::size_t kept = 0;
  for (std::size_t n = 0; n < size(state); ++n) {
    Slot slot = slot_at(state, n);
    if (slot.expires <= request.now_ms) continue;
    slot.expires = std::min(slot.expires, request.now_ms + terms.window_ms);
    put(state, kept++, slot);
  }
  state.more->resize(kept * kSlotWords);
  recount(state);
}

void insert(CounterState& state, std::size_t n, const Slot& slot) {
  const std::array<std::int64_t, kSlotWords> words{slot.owner, slot.count, slot.expires};
  state.more->insert(state.more->begin() + static_cast<std::ptrdiff_t>(n * kSlotWords), words.begin(),
                     words.end());
}

bool is_owner(const CounterState& state, std::size_t n, std::int64_t owner) {
  return n < size(state) && slot_at(state, n).owner == owner;
}

void read(Verdict& verdict, std::int64_t busy, std::int64_t latest, const Terms& terms,
          const Request& request) {
  verdict.remaining = std::max<std::int64_t>(0, terms.limit - busy);
  verdict.reset_ms = busy > 0 ? latest - request.now_ms : 0;
}

Look judge(const CounterState& state, const Terms& terms, const Request& request) {
  const Summary now = look_at(state, terms, request);
  Look look;
  look.repair = now.repair;
  Verdict& verdict = look.verdict;
  verdict.limit = terms.limit;
  read(verdict, now.busy, now.latest, terms, request);
  verdict.within_limit = request.cost <= terms.limit - now.busy;
  if (!verdict.within_limit) verdict.retry_after_ms = request.cost > terms.limit ? kNever : kRetryMs;
  return look;
}

Verdict charge(CounterState& state, const Terms& terms, const Request& request, const Look& look) {
  bring(state, terms, request);
  Verdict verdict = look.verdict;
  const std::int64_t expires = request.now_ms + terms.window_ms;
  const auto owner = static_cast<std::int64_t>(request.owner);
  const std::size_t n = position(state, owner);
  if (is_owner(state, n, owner))
    put(state, n, {owner, slot_at(state, n).count + request.cost, expires});
  else
    insert(state, n, {owner, request.cost, expires});
  Summary sum{state.word[kBusy], state.word[kEarliest], state.word[kLatest], false};
  add(sum, {owner, request.cost, expires});
  write(state, sum);
  read(verdict, sum.busy, sum.latest, terms, request);
  return verdict;
}

void repair(CounterState& state, const Terms& terms, const Request& request, const Look&) {
  bring(state, terms, request);
}

void settle(CounterState&, const Terms&, const Request&, std::int64_t, std::int64_t) {}

void release(CounterState& state, const Terms&, const Request& request) {
  const auto owner = static_cast<std::int64_t>(request.owner);
  const std::size_t n = position(state, owner);
  if (!is_owner(state, n, owner)) return;
  const Slot gone = slot_at(state, n);
  const auto first = state.more->begin() + static_cast<std::ptrdiff_t>(n * kSlotWords);
  state.more->erase(first, first + kSlotWords);
  state.word[kBusy] -= gone.count;
  if (gone.expires == state.word[kLatest] || state.more->empty()) recount(state);
}

void renew(CounterState& state, const Terms& terms, const Request& request) {
  if (!state.more) state.more = std::make_unique<std::vector<std::int64_t>>();
  const auto owner = static_cast<std::int64_t>(request.owner);
  Slot slot{owner, request.cost, request.now_ms + terms.window_ms};
  const std::size_t n = position(state, owner);
  if (is_owner(state, n, owner)) {
    const Slot before = slot_at(state, n);
    if (before.expires > request.now_ms) slot.count = before.count;
    put(state, n, slot);
  } else {
    insert(state, n, slot);
  }
  recount(state);
}

Debt owed(const CounterState& state, const Terms& terms, const Request& request) {
  const Summary now = look_at(state, terms, request);
  return now.busy > 0 ? Debt{now.busy, now.latest} : Debt{};
}

void restore(CounterState& state, const Terms&, const Request&, const Debt& debt) {
  state.more = std::make_unique<std::vector<std::int64_t>>();
  insert(state, 0, {0, debt.used, debt.until_ms});
  recount(state);
}

}  // namespace

const Algorithm kConcurrency{
    AlgorithmKind::concurrency, "concurrency", judge, charge, repair, settle, release, renew, owed, restore};

}  // namespace weir::limit
