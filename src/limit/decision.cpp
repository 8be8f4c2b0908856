// SPDX-License-Identifier: Apache-2.0
#include "weir/limit/decision.hpp"

#include <algorithm>

namespace weir::limit {
namespace {

// What a counter holds when nothing is used. The share of a bucket is that of its burst: a full bucket is at
// 100 % however small it is against its rate.
std::int64_t capacity(const Terms& terms) {
  switch (terms.algorithm) {
    case AlgorithmKind::token_bucket:
    case AlgorithmKind::gcra:
    case AlgorithmKind::leaky_bucket:
      return terms.burst;
    default:
      return terms.limit;
  }
}

bool is_tighter(const Charge& charge, const Charge& than) {
  const auto share = [](const Charge& each) {
    return static_cast<double>(each.verdict.remaining) / static_cast<double>(capacity(each.policy->terms));
  };
  const double mine = share(charge);
  const double other = share(than);
  if (mine != other) return mine < other;
  return charge.policy->terms.window_ms > than.policy->terms.window_ms;
}

bool warns(const Charge& charge) {
  const Policy& policy = *charge.policy;
  return policy.warn_at > 0 && capacity(policy.terms) - charge.verdict.remaining >= policy.warn_at;
}

bool enforces(const Charge& charge) {
  return charge.enforcement == Enforcement::enforce;
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
      if (enforces(charge)) refuse(decision, charge, layer);
      continue;
    }
    if (warns(charge)) decision.warnings |= bit;
    if (!enforces(charge)) {
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

}  // namespace weir::limit
