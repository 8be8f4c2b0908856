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

// A batch that is spent stays until the next one comes: what was taken out of it may come back.
void LeasePool::refresh(Entry& entry, std::int64_t now_ms) {
  for (std::size_t n = 0; n < entry.batch.size(); ++n) {
    const LeaseBatch& first = entry.batch[0];
    const bool replaced = first.permits == 0 && entry.batch[1].charged_at_ms > 0;
    if (first.charged_at_ms > 0 && (replaced || now_ms >= first.ends_ms)) retire(entry);
  }
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
  look.calling = entry.calling(now_ms);
  verdict.limit = terms.limit;
  verdict.remaining = std::min(known + entry.permits(), limit::capacity_of(terms));
  verdict.reset_ms = std::max<std::int64_t>(0, entry.reset_at_ms - now_ms);
  if (entry.batch[0].permits >= cost || has_credit(entry, cost, now_ms)) {
    look.answer = Answer::ready;
    return look;
  }
  // What is to be given back goes along with this request, which may then have it.
  look.returns = cost > 0 && entry.to_give_back() >= cost;
  if (look.returns) return look;
  // While the one call is under way that looks whether permits have come back, the last word still stands.
  const bool looking = look.calling && entry.looking && is_hot(options_, entry.rate.at(now_ms));
  const bool denied = now_ms < entry.denied_until_ms && cost >= entry.denied_cost;
  if (!denied && !looking) return look;
  look.answer = Answer::denied;
  verdict.within_limit = false;
  verdict.retry_after_ms = std::max<std::int64_t>(1, entry.retry_at_ms - now_ms);
  return look;
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
