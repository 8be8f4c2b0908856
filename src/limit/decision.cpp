// SPDX-License-Identifier: Apache-2.0
#include "weir/limit/decision.hpp"

#include <algorithm>

namespace weir::limit {
namespace {

// Compares remaining / capacity crosswise. As doubles, since the products may need 106 bits; equal shares
// give equal doubles.
bool is_tighter(const Charge& charge, const Charge& than) {
  const auto product = [](const Charge& left, const Charge& of) {
    return static_cast<double>(left.verdict.remaining) * static_cast<double>(capacity_of(of.policy->terms));
  };
  const double mine = product(charge, than);
  const double other = product(than, charge);
  if (mine != other) return mine < other;
  return charge.policy->terms.window_ms > than.policy->terms.window_ms;
}

bool warns(const Charge& charge) {
  const Policy& policy = *charge.policy;
  return policy.warn_at > 0 && capacity_of(policy.terms) - charge.verdict.remaining >= policy.warn_at;
}

// One enforcing layer that refuses, in chain order.
void refuse(Decision& decision, const Charge& charge, std::uint8_t layer) {
  const bool first = decision.allowed();
  const std::int64_t retry = charge.verdict.retry_after_ms;
  const Policy& policy = *charge.policy;
  const bool counted = charge.answered != Answered::failed_shut;
  if (counted) decision.hits |= std::uint32_t{1} << layer;
  if (first) decision.final_hit = layer;
  decision.delayable = (first || decision.delayable) && counted && policy.on_exceed == OnExceed::delay &&
                       retry != kNever && retry <= policy.max_delay_ms;
  decision.queueable =
      (first || decision.queueable) && counted && policy.on_exceed == OnExceed::queue && retry != kNever;
  if (retry == kNever || decision.retry_after_ms == kNever)
    decision.retry_after_ms = kNever;
  else
    decision.retry_after_ms = std::max(decision.retry_after_ms, retry);
  if (!counted)
    decision.outcome = Outcome::store_down;
  else if (decision.outcome != Outcome::store_down)
    decision.outcome = decision.retry_after_ms == kNever ? Outcome::cost_too_large : Outcome::over_limit;
}

}  // namespace

Decision conclude(const ChargeSet& set) noexcept {
  Decision decision;
  std::int64_t wait = 0;
  for (std::size_t n = 0; n < set.size; ++n) {
    const Charge& charge = set.charge[n];
    const auto layer = static_cast<std::uint8_t>(n);
    const std::uint32_t bit = std::uint32_t{1} << layer;
    if (charge.answered == Answered::failed_open) continue;
    if (charge.answered == Answered::failed_shut) {
      if (charge.enforces()) refuse(decision, charge, layer);
      continue;
    }
    if (warns(charge)) decision.warnings |= bit;
    if (!charge.enforces()) {
      if (!charge.verdict.within_limit) decision.shadow_hits |= bit;
      continue;
    }
    if (charge.verdict.within_limit)
      wait = std::max(wait, charge.verdict.wait_ms);
    else
      refuse(decision, charge, layer);
    if (decision.tightest == Decision::kNoLayer || is_tighter(charge, set.charge[decision.tightest]))
      decision.tightest = layer;
  }
  if (decision.allowed()) decision.wait_ms = wait;
  return decision;
}

std::int64_t granted_delay_ms(const ChargeSet& set, const Decision& decision) noexcept {
  std::int64_t granted = INT64_MAX;
  for (std::size_t n = 0; n < set.size; ++n) {
    if ((decision.hits >> n & 1U) != 0) granted = std::min(granted, set.charge[n].policy->max_delay_ms);
  }
  return granted;
}

}  // namespace weir::limit
