// SPDX-License-Identifier: Apache-2.0
#include "limit/counters_at_hand.hpp"

#include <algorithm>
#include <new>
#include <type_traits>

#include "limit/algorithm_table.hpp"

namespace weir::limit {
namespace {

// Looks are made where they stay, and only as many as there are layers: copying what was just written in
// pieces stalls the processor, and clearing sixteen of them costs as much as deciding one.
class Looks {
 public:
  const Look& add(std::size_t n, const Charge& charge, const CounterState& state) {
    const Algorithm& rules = algorithm(charge.policy->terms.algorithm);
    return *::new (place(n)) Look(rules.judge(state, charge.policy->terms, charge.request));
  }
  const Look& operator[](std::size_t n) { return *std::launder(static_cast<const Look*>(place(n))); }

 private:
  static_assert(std::is_trivially_destructible_v<Look>);
  void* place(std::size_t n) { return bytes_ + n * sizeof(Look); }
  alignas(Look) std::byte bytes_[kMaxLayers * sizeof(Look)];
};

void take(Charge& charge, CounterState& state, const Look& look) {
  const Algorithm& rules = algorithm(charge.policy->terms.algorithm);
  ::new (&charge.verdict) Verdict(rules.charge(state, charge.policy->terms, charge.request, look));
  charge.charged = true;
}

// Takes note of what the asker saw used, and gives back what earlier leases left unused.
void take_back(const Charge& charge, CounterState& state) {
  const Terms& terms = charge.policy->terms;
  const Algorithm& rules = algorithm(terms.algorithm);
  const Lease::Seen& seen = charge.lease->seen;
  if (seen.ends_ms > 0 && terms.algorithm == AlgorithmKind::fixed_window)
    recall_window(state, terms, charge.request, seen.used, seen.ends_ms);
  for (const Lease::Spent& back : charge.lease->back) {
    if (back.count > 0) rules.settle(state, terms, charge.request, back.at_ms, -back.count);
  }
}

// After the charge, or instead of one for a cost of 0: takes what the lease asks for beyond it.
void lend(Charge& charge, CounterState& state) {
  const Terms& terms = charge.policy->terms;
  const Algorithm& rules = algorithm(terms.algorithm);
  Lease& lease = *charge.lease;
  const std::int64_t left = charge.verdict.remaining;
  Request request = charge.request;
  request.cost = std::min(left, std::max(std::min(lease.more, left * lease.permille / 1000), lease.least));
  const Look look = rules.judge(state, terms, request);
  if (request.cost > 0 && look.verdict.within_limit) {
    charge.verdict = rules.charge(state, terms, request, look);
    lease.granted = request.cost;
  }
  request.cost = 1;
  const Verdict next = rules.judge(state, terms, request).verdict;
  lease.next_ms = next.within_limit ? 0 : next.retry_after_ms;
}

void leave(Charge& charge, CounterState& state, const Look& look) {
  charge.verdict = look.verdict;
  if (!look.repair) return;
  algorithm(charge.policy->terms.algorithm).repair(state, charge.policy->terms, charge.request, look);
}

bool takes(const Charge& charge, const Look& look) {
  return look.verdict.within_limit && charge.request.cost > 0;
}

}  // namespace

void decide_counters(ChargeSet& set, std::span<CounterState* const> states) {
  Looks looks;
  const bool relaxed = set.accounting == Accounting::relaxed;
  bool refused = false;
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    if (charge.lease != nullptr) take_back(charge, *states[n]);
    const Look& look = looks.add(n, charge, *states[n]);
    charge.charged = false;
    if (charge.enforcement == Enforcement::shadow) continue;
    refused = refused || !look.verdict.within_limit;
    if (relaxed && !refused && takes(charge, look)) take(charge, *states[n], look);
  }
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    if (charge.charged) continue;
    if (!refused && takes(charge, looks[n]))
      take(charge, *states[n], looks[n]);
    else
      leave(charge, *states[n], looks[n]);
    if (charge.lease != nullptr && !refused && looks[n].verdict.within_limit) lend(charge, *states[n]);
  }
}

}  // namespace weir::limit
