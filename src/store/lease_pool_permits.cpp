// SPDX-License-Identifier: Apache-2.0
// What requests take out of a LeasePool, and what comes back.
#include <algorithm>

#include "store/lease_entry.hpp"

namespace weir::store {

using limit::Charge;
using limit::Terms;

// While the next lease is on its way, and there was plenty when the store was last heard (or the window is
// new).
bool LeasePool::has_credit(const Entry& entry, std::int64_t cost, std::int64_t now_ms) const {
  if (options_.debt_permille == 0 || !entry.calling(now_ms) || entry.heard_ms == 0) return false;
  if (now_ms < entry.denied_until_ms) return false;
  const bool renewed = entry.terms.algorithm == limit::AlgorithmKind::fixed_window && entry.tag_ends_ms > 0 &&
                       now_ms >= entry.tag_ends_ms;
  const bool plenty = entry.remaining > limit::capacity_of(entry.terms) / 10;
  if (!renewed && !plenty) return false;
  const std::size_t instances = fleet_ == nullptr ? 0 : fleet_->heard();
  return entry.debt + cost <= credit(entry.terms, options_, entry.rate.at(now_ms), instances);
}

std::optional<LeasePool::Taken> LeasePool::take(const Hash128& id, const Charge& charge, std::int64_t now_ms,
                                                Use use) {
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry == nullptr) return std::nullopt;
  refresh(*entry, now_ms);
  LeaseBatch& batch = entry->batch[0];
  const std::int64_t cost = charge.request.cost;
  Taken taken;
  taken.on_credit = batch.permits < cost;
  if (!taken.on_credit) {
    batch.permits -= cost;
    taken.pending = use == Use::pending;
    if (!taken.pending) batch.used += cost;
    taken.charged_at_ms = batch.charged_at_ms;
  } else if (has_credit(*entry, cost, now_ms)) {
    entry->debt += cost;
    taken.charged_at_ms = store_now_ms(now_ms);
    stats_.debt.fetch_add(static_cast<std::uint64_t>(cost), std::memory_order_relaxed);
  } else {
    return std::nullopt;
  }
  const Terms& terms = charge.policy->terms;
  const std::int64_t left = entry->permits();
  taken.verdict.limit = terms.limit;
  taken.verdict.remaining = std::min(entry->remaining + left, limit::capacity_of(terms));
  taken.verdict.reset_ms = std::max<std::int64_t>(1, entry->reset_at_ms - now_ms);
  taken.low = entry->batch[1].charged_at_ms == 0 && !entry->calling(now_ms) &&
              now_ms >= entry->denied_until_ms &&
              left <= low_mark(options_, entry->rate.at(now_ms), entry->last_granted);
  return taken;
}

void LeasePool::use(const Hash128& id, const Taken& taken, std::int64_t cost) {
  if (!taken.pending) return;
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry == nullptr) return;
  for (LeaseBatch& batch : entry->batch) {
    if (batch.charged_at_ms != taken.charged_at_ms) continue;
    batch.used += cost;
    return;
  }
  merge(entry->used, {cost, taken.charged_at_ms});
}

void LeasePool::give_back(const Hash128& id, const Taken& taken, std::int64_t cost) {
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry == nullptr) return lapse(taken.on_credit ? 0 : cost);
  if (taken.on_credit) {
    entry->debt -= std::min(entry->debt, cost);  // what was charged already stays charged
    return;
  }
  // Two leases of one moment there may be, and which of them it was is told by what was used.
  LeaseBatch* of_moment = nullptr;
  for (LeaseBatch& batch : entry->batch) {
    if (batch.charged_at_ms != taken.charged_at_ms) continue;
    if (of_moment == nullptr || of_moment->used < cost) of_moment = &batch;
  }
  if (taken.pending) {
    if (of_moment == nullptr) return leave_unused(*entry, {cost, taken.charged_at_ms});
    of_moment->permits += cost;
    return;
  }
  const bool told = of_moment == nullptr || of_moment->used < cost;
  const bool over = told && entry->used.at_ms == taken.charged_at_ms && entry->used.count >= cost;
  if (over) entry->used.count -= cost;
  if (of_moment != nullptr) {
    of_moment->permits += cost;
    if (!over) of_moment->used -= std::min(of_moment->used, cost);
  } else if (over) {
    leave_unused(*entry, {cost, taken.charged_at_ms});
  } else {
    lapse(cost);
  }
}

void LeasePool::put_back(const Hash128& id, std::int64_t cost, std::int64_t now_ms) {
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry != nullptr) refresh(*entry, now_ms);
  LeaseBatch* const batch = entry == nullptr ? nullptr : &entry->batch[0];
  if (batch == nullptr || batch->charged_at_ms == 0 || batch->used < cost) return lapse(cost);
  batch->permits += cost;
  batch->used -= cost;
}

}  // namespace weir::store
