// SPDX-License-Identifier: Apache-2.0
#include "store/pool_word.hpp"

#include <algorithm>

#include "store/lease_rates.hpp"

namespace weir::store {

using limit::AlgorithmKind;
using limit::Charge;
using limit::Lease;
using limit::Terms;

namespace {

double fleet_rate_after(const Charge& answered, const PoolOrder& order, std::int64_t tag_ends_ms) {
  FleetRate::Heard last;
  if (order.age_ms >= 0) {
    last.per_second = order.fleet_rate;
    last.remaining = order.remaining;
    last.at_ms = order.asked_ms - order.age_ms;
    last.tag_ends_ms = order.tag_ms < 0 ? kForever : last.at_ms + order.tag_ms;
  }
  FleetRate rate(last);
  rate.hear(answered.policy->terms, answered.verdict.remaining, tag_ends_ms, order.asked_ms);
  return rate.value();
}

}  // namespace

Lease lease_of(const Terms& terms, const LeaseOptions& options, const PoolOrder& order) {
  Demand demand;
  demand.rate = order.rate;
  demand.fleet_rate = order.fleet_rate;
  demand.left_ms = order.left_ms < 0 ? kForever : order.left_ms;
  Lease lease = lease_to_ask(terms, options, demand);
  if (lease.life_ms == 0) lease.life_ms = lease_life_ms(terms, options);
  lease.back = order.back;
  lease.spent = order.spent;
  return lease;
}

bool asks_anything(const Lease& lease) noexcept {
  const auto any = [](const Lease::Spent& each) { return each.count > 0; };
  return lease.more > 0 || std::ranges::any_of(lease.back, any) || std::ranges::any_of(lease.spent, any);
}

PoolWord word_of(const Charge& answered, const LeaseOptions& options, const PoolOrder& order) {
  const Terms& terms = answered.policy->terms;
  const limit::Verdict& verdict = answered.verdict;
  const Lease* const lease = answered.lease;
  PoolWord word;
  word.asked_ms = order.asked_ms;
  word.remaining = verdict.remaining;
  word.reset_ms = verdict.reset_ms;
  word.fleet_rate = order.fleet_rate;
  word.permits = lease == nullptr ? 0 : lease->granted;
  word.at_ms = answered.request.now_ms;
  std::int64_t ends_in = kForever;
  if (answered.charged || word.permits > 0) {
    ends_in = tag_ends_in_ms(answered);
    word.tag_ends_ms = ends_in == kForever ? 0 : order.asked_ms + ends_in;
    word.fleet_rate = fleet_rate_after(answered, order, ends_in == kForever ? kForever : word.tag_ends_ms);
  }
  if (word.permits > 0) {
    word.ends_ms = order.asked_ms + std::min(lease->life_ms, ends_in) - kLeaseGuardMs;
    word.worth = terms.algorithm == AlgorithmKind::fixed_window && ends_in <= lease->life_ms ? 0 : 1;
  }
  if (terms.algorithm == AlgorithmKind::fixed_window && verdict.reset_ms > 0)
    word.seen = {terms.limit - verdict.remaining, word.at_ms + verdict.reset_ms, word.at_ms};

  const std::int64_t left_ms = word.tag_ends_ms == 0 ? kForever : word.tag_ends_ms - order.asked_ms;
  const std::int64_t gather = is_hot(options, order.rate) ? gathering_ms(terms, order.rate, left_ms) : 0;
  if (answered.request.cost > 0 && !verdict.within_limit && verdict.retry_after_ms > 0) {
    word.deny_cost = answered.request.cost;
    word.deny_ms = std::max(verdict.retry_after_ms, gather);
  } else if (lease != nullptr && verdict.remaining == 0 && lease->next_ms > 0) {
    word.deny_cost = 1;
    word.deny_ms = std::max(lease->next_ms, gather);
  }
  return word;
}

}  // namespace weir::store
