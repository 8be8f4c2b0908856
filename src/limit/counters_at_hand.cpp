// SPDX-License-Identifier: Apache-2.0
#include "limit/counters_at_hand.hpp"

#include <new>
#include <type_traits>

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
  }
}

}  // namespace weir::limit
