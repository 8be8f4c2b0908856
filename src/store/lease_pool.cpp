// SPDX-License-Identifier: Apache-2.0
#include "store/lease_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "store/lease_entry.hpp"

namespace weir::store {

using limit::Charge;
using limit::Lease;
using limit::Terms;

LeasePool::LeasePool(const LeaseOptions& options, std::shared_ptr<const FleetShare> fleet)
    : options_(options),
      fleet_(std::move(fleet)),
      seed_(process_seed()),
      groups_count_(std::bit_ceil(std::max<std::size_t>(options.max_keys / kWays, 1))),
      groups_(std::make_unique<Group[]>(groups_count_)) {}

LeasePool::~LeasePool() = default;

LeasePool::Group& LeasePool::group_of(const Hash128& id) const noexcept {
  return groups_[id.low & (groups_count_ - 1)];
}

LeasePool::Entry* LeasePool::find(Group& group, const Hash128& id) const noexcept {
  for (Entry& entry : group.entry) {
    if (entry.touched_ms > 0 && entry.id == id) return &entry;
  }
  return nullptr;
}

LeasePool::Entry& LeasePool::find_or_make(Group& group, const Hash128& id, const Charge& charge,
                                          std::int64_t now_ms) {
  Entry* entry = find(group, id);
  if (entry == nullptr) {
    const auto worth = [](const Entry& each) {
      return std::pair(each.permits() > 0 || each.called_ms > 0, each.touched_ms);
    };
    entry = &*std::ranges::min_element(group.entry, {}, worth);
    lapse(entry->permits() + entry->to_give_back());
    *entry = Entry();
    entry->id = id;
    entry->terms = charge.policy->terms;
  }
  if (!(entry->terms == charge.policy->terms)) {
    // A changed limit acts at once: what is held goes back with the next call. Not to a bucket that became
    // smaller: what it owes beyond its new size is forgiven, so that permits given back would be new ones.
    const bool smaller = limit::capacity_of(charge.policy->terms) < limit::capacity_of(entry->terms);
    if (smaller && entry->terms.algorithm == limit::AlgorithmKind::token_bucket) drop(*entry);
    for (LeaseBatch& batch : entry->batch) batch.ends_ms = 0;
    entry->denied_until_ms = 0;
    entry->heard_ms = 0;
    entry->terms = charge.policy->terms;
  }
  entry->touched_ms = now_ms;
  return *entry;
}

void LeasePool::drop(Entry& entry) {
  lapse(entry.permits() + entry.to_give_back());
  for (LeaseBatch& batch : entry.batch) batch.permits = 0;
  entry.unused = {};
}

void LeasePool::lapse(std::int64_t permits) {
  if (permits > 0) stats_.lapsed.fetch_add(static_cast<std::uint64_t>(permits), std::memory_order_relaxed);
}

void LeasePool::leave_unused(Entry& entry, const Lease::Spent& back) {
  if (back.count == 0) return;
  for (Lease::Spent& place : entry.unused) {
    if (place.count > 0 && place.at_ms != back.at_ms) continue;
    place = {place.count + back.count, back.at_ms};
    return;
  }
  lapse(back.count);
}

// The first batch leaves; what it used and did not use is remembered for the next call.
void LeasePool::retire(Entry& entry) {
  LeaseBatch& gone = entry.batch[0];
  merge(entry.used, {gone.used, gone.charged_at_ms});
  Lease::Spent back{gone.permits, gone.charged_at_ms};
  const bool window_over = entry.terms.algorithm == limit::AlgorithmKind::fixed_window &&
                           gone.ends_ms >= entry.tag_ends_ms - kLeaseGuardMs;
  if (window_over) {
    lapse(back.count);
    back.count = 0;
  }
  leave_unused(entry, back);
  entry.batch[0] = entry.batch[1];
  entry.batch[1] = LeaseBatch();
}

void LeasePool::refresh(Entry& entry, std::int64_t now_ms) {
  for (std::size_t n = 0; n < entry.batch.size(); ++n) {
    const LeaseBatch& first = entry.batch[0];
    if (first.charged_at_ms > 0 && (first.permits == 0 || now_ms >= first.ends_ms)) retire(entry);
  }
}

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

LeasePool::Look LeasePool::look(const Hash128& id, const Charge& charge, std::int64_t now_ms,
                                Arrival arrival) {
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry& entry = find_or_make(group, id, charge, now_ms);
  const std::int64_t cost = charge.request.cost;
  if (arrival == Arrival::counted) entry.rate.count(cost, now_ms);
  refresh(entry, now_ms);
  Look look;
  limit::Verdict& verdict = look.verdict;
  const Terms& terms = charge.policy->terms;
  const std::int64_t known = entry.heard_ms > 0 ? entry.remaining : limit::capacity_of(terms);
  verdict.limit = terms.limit;
  verdict.remaining = std::min(known + entry.permits(), limit::capacity_of(terms));
  verdict.reset_ms = std::max<std::int64_t>(0, entry.reset_at_ms - now_ms);
  if (entry.batch[0].permits >= cost || has_credit(entry, cost, now_ms)) {
    look.answer = Answer::ready;
    return look;
  }
  // While the one call is under way that looks whether permits have come back, the last word still stands.
  const bool looking = entry.calling(now_ms) && entry.heard_ms > 0 && entry.remaining == 0 &&
                       is_hot(options_, entry.rate.at(now_ms));
  const bool denied = now_ms < entry.denied_until_ms && cost >= entry.denied_cost;
  if (!denied && !looking) return look;
  look.answer = Answer::denied;
  verdict.within_limit = false;
  verdict.retry_after_ms = std::max<std::int64_t>(1, entry.retry_at_ms - now_ms);
  return look;
}

std::optional<LeasePool::Taken> LeasePool::take(const Hash128& id, const Charge& charge,
                                                std::int64_t now_ms) {
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
    batch.used += cost;
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

void LeasePool::doubt_denial(const Hash128& id) {
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry != nullptr) entry->denied_until_ms = 0;
}

std::int64_t LeasePool::held() {
  std::int64_t sum = 0;
  for (std::size_t n = 0; n < groups_count_; ++n) {
    const std::lock_guard lock(groups_[n].mutex);
    for (const Entry& entry : groups_[n].entry) sum += entry.permits();
  }
  return sum;
}

}  // namespace weir::store
