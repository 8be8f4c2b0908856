// SPDX-License-Identifier: Apache-2.0
#include "limit/counters_at_hand.hpp"

namespace weir::limit {
namespace {

const Algorithm& algorithm_of(const Charge& charge) {
  return algorithm(charge.policy->terms.algorithm);
}

Look judge(Charge& charge, const CounterState& state) {
  const Look look = algorithm_of(charge).judge(state, charge.policy->terms, charge.request);
  charge.verdict = look.verdict;
  charge.charged = false;
  return look;
}

void take(Charge& charge, CounterState& state, const Look& look) {
  if (charge.request.cost == 0) return;
  charge.verdict = algorithm_of(charge).charge(state, charge.policy->terms, charge.request, look);
  charge.charged = true;
}

void leave(const Charge& charge, CounterState& state, const Look& look) {
  if (look.repair) algorithm_of(charge).repair(state, charge.policy->terms, charge.request, look);
}

bool refuses(const Charge& charge) {
  return charge.enforcement == Enforcement::enforce && !charge.verdict.within_limit;
}

}  // namespace

void decide_counters(ChargeSet& set, std::span<CounterState* const> states) {
  std::array<Look, kMaxLayers> looks;
  const bool relaxed = set.accounting == Accounting::relaxed;
  bool refused = false;
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    looks[n] = judge(charge, *states[n]);
    refused = refused || refuses(charge);
    if (relaxed && !refused && charge.enforcement == Enforcement::enforce) take(charge, *states[n], looks[n]);
  }
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    if (charge.charged) continue;
    if (!refused && charge.verdict.within_limit)
      take(charge, *states[n], looks[n]);
    else
      leave(charge, *states[n], looks[n]);
  }
}

void look_at_counters(ChargeSet& set, std::span<const CounterState* const> states) {
  for (std::size_t n = 0; n < set.size; ++n) judge(set.charge[n], *states[n]);
}

}  // namespace weir::limit
