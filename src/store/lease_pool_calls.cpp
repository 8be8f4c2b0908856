// SPDX-License-Identifier: Apache-2.0
// What passes between a LeasePool and the store: what to ask for, what was answered, what goes back.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "store/lease_entry.hpp"

namespace weir::store {

using limit::Charge;
using limit::Lease;
using limit::Terms;

namespace {

// What an answer leaves used of a fixed window.
Lease::Seen seen_in(const Charge& answered) {
  const limit::Verdict& verdict = answered.verdict;
  if (verdict.reset_ms == 0) return {};
  const std::int64_t at_ms = answered.request.now_ms;
  return {answered.policy->terms.limit - verdict.remaining, at_ms + verdict.reset_ms, at_ms};
}

}  // namespace

// What a call was to give back: whether it arrived where no answer came, nobody knows.
void LeasePool::count_back(const Lease& lease, limit::Answered answered) {
  const std::int64_t back = lease.back[0].count + lease.back[1].count;
  if (answered != limit::Answered::store) return lapse(back);
  stats_.returned.fetch_add(static_cast<std::uint64_t>(back), std::memory_order_relaxed);
}

bool LeasePool::plan(const Hash128& id, const Charge& charge, std::int64_t now_ms, const Renewed& renewed,
                     Lease& lease) {
  if (closed_.load(std::memory_order_relaxed) || !can_lease(charge.policy->terms)) return false;
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry == nullptr || entry->calling(now_ms) || entry->batch[1].charged_at_ms > 0) return false;
  const bool tagged = entry->heard_ms > 0 && entry->tag_ends_ms != kForever && entry->tag_ends_ms > now_ms;
  Demand demand;
  demand.rate = entry->rate.at(now_ms);
  demand.fleet_rate = entry->fleet.value();
  demand.left_ms = tagged ? entry->tag_ends_ms - now_ms : kForever;
  lease = lease_to_ask(charge.policy->terms, options_, demand);
  if (lease.more == 0 && entry->to_give_back() == 0) return false;
  refresh(*entry, now_ms);
  lease.back = std::exchange(entry->unused, {});
  lease.spent[0] = std::exchange(entry->used, {});
  lease.spent[1] = {std::exchange(entry->batch[0].used, 0), entry->batch[0].charged_at_ms};
  if (entry->seen.ends_ms > 0 && renewed && renewed(charge.key, entry->seen_ms)) lease.seen = entry->seen;
  const std::int64_t since_ms = entry->planned_ms == 0 ? 0 : now_ms - entry->planned_ms;
  lease.demand = std::max(charge.request.cost,
                          static_cast<std::int64_t>(demand.rate * static_cast<double>(since_ms) / 1000));
  entry->called_ms = entry->planned_ms = now_ms;
  const bool returns = lease.back[0].count + lease.back[1].count > 0;
  if (returns) entry->denied_until_ms = 0;  // others may ask for it too
  entry->looking = !returns && entry->heard_ms > 0 && entry->remaining == 0;
  if (entry->key.empty()) entry->key = charge.key;
  entry->request = charge.request;
  return true;
}

LeasePool::Booked LeasePool::book(const Hash128& id, const Charge& answered, const Times& times,
                                  const Renewed& renewed) {
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  const Lease* const lease = answered.lease;
  const std::int64_t granted = lease == nullptr ? 0 : lease->granted;
  if (lease != nullptr) count_back(*lease, answered.answered);
  if (entry == nullptr) {
    lapse(granted);
    return {};
  }
  if (lease != nullptr) entry->called_ms = 0;
  if (answered.answered != limit::Answered::store) return {};
  Booked booked;
  if (lease != nullptr) booked.debt = std::exchange(entry->debt, 0);
  const limit::Verdict& verdict = answered.verdict;
  const Terms& terms = answered.policy->terms;
  offset_ms_.store(answered.request.now_ms - times.sent_ms, std::memory_order_relaxed);
  entry->heard_ms = times.now_ms;
  entry->remaining = std::max<std::int64_t>(0, verdict.remaining - booked.debt);
  entry->reset_at_ms = times.now_ms + verdict.reset_ms;
  if (lease != nullptr && terms.algorithm == limit::AlgorithmKind::fixed_window) {
    const Lease::Seen seen = seen_in(answered);
    const bool knows_less = seen.used < entry->seen.used && entry->seen.ends_ms > answered.request.now_ms;
    const bool was_told = lease->seen.ends_ms > 0;
    if (!knows_less || was_told || !renewed || !renewed(answered.key, entry->seen_ms)) {
      entry->seen = seen;
      entry->seen_ms = times.now_ms;
    }
  }
  std::int64_t ends_in = kForever;
  if (answered.charged || granted > 0) {
    ends_in = tag_ends_in_ms(answered);
    entry->tag_ends_ms = ends_in == kForever ? kForever : times.sent_ms + ends_in;
    entry->fleet.hear(terms, verdict.remaining, entry->tag_ends_ms, times.now_ms);
  }

  const double rate = entry->rate.at(times.now_ms);
  const std::int64_t left_ms = entry->tag_ends_ms == kForever ? kForever : entry->tag_ends_ms - times.now_ms;
  const std::int64_t gather = is_hot(options_, rate) ? gathering_ms(terms, rate, left_ms) : 0;
  const std::int64_t cost = answered.request.cost;
  if (cost > 0 && !verdict.within_limit && verdict.retry_after_ms > 0) {
    const bool stands = !entry->calling(times.now_ms);
    if (stands) entry->deny(cost, std::max(verdict.retry_after_ms, gather), times.now_ms);
  } else if (lease != nullptr && verdict.remaining == 0 && lease->next_ms > 0) {
    entry->deny(1, std::max(lease->next_ms, gather), times.now_ms);
  } else if (verdict.remaining > 0) {
    entry->denied_until_ms = 0;
  }
  if (granted == 0) return booked;
  stats_.leases.fetch_add(1, std::memory_order_relaxed);
  stats_.granted.fetch_add(static_cast<std::uint64_t>(granted), std::memory_order_relaxed);
  const std::int64_t life = ends_in == kForever ? lease->life_ms : std::min(lease->life_ms, ends_in);
  const LeaseBatch batch{granted, 0, answered.request.now_ms, times.sent_ms + life - kLeaseGuardMs};
  refresh(*entry, times.now_ms);
  const bool together = std::abs(entry->batch[0].ends_ms - batch.ends_ms) <= kLeaseGuardMs;
  if (entry->batch[0].charged_at_ms == batch.charged_at_ms && together) {
    // Two calls within one millisecond of the store's: one batch, that ends with the first. (What a region
    // was granted at one moment is handed on in leases that end one after the other.)
    entry->batch[0].permits += granted;
  } else {
    LeaseBatch& place = entry->batch[entry->batch[0].charged_at_ms == 0 ? 0 : 1];
    lapse(place.permits);  // of a call that was given up for lost, and answered after all
    place = batch;
  }
  entry->last_granted = granted;
  if (!(entry->terms == terms)) entry->batch[0].ends_ms = entry->batch[1].ends_ms = 0;
  booked.ends_ms = batch.ends_ms;
  return booked;
}

LeasePool::Over LeasePool::over(const Hash128& id, std::int64_t now_ms) {
  constexpr std::int64_t kQuietMs = 150;  // a key that is still asked for takes it along with its next call
  Over result;
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry == nullptr) return result;
  refresh(*entry, now_ms);
  if (entry->permits() > 0) {
    result.look_again_ms = std::max(entry->batch[0].ends_ms, entry->batch[1].ends_ms);
  } else if (entry->to_give_back() > 0 && (entry->calling(now_ms) || now_ms - entry->touched_ms < kQuietMs)) {
    result.look_again_ms = now_ms + kQuietMs;
  } else if (entry->to_give_back() > 0) {
    LeaseReturn& give_back = result.give_back.emplace();
    give_back.key = entry->key;
    give_back.terms = entry->terms;
    give_back.request = entry->request;
    give_back.lease.back = std::exchange(entry->unused, {});
    give_back.lease.spent[0] = std::exchange(entry->used, {});
  }
  return result;
}

std::vector<LeaseReturn> LeasePool::close() {
  std::vector<LeaseReturn> all;
  closed_.store(true);
  for (std::size_t n = 0; n < groups_count_; ++n) {
    const std::lock_guard lock(groups_[n].mutex);
    for (Entry& entry : groups_[n].entry) {
      for (const LeaseBatch& batch : entry.batch) leave_unused(entry, {batch.permits, batch.charged_at_ms});
      entry.batch = {};
      if (entry.to_give_back() == 0) continue;
      LeaseReturn& give_back = all.emplace_back(LeaseReturn{entry.key, entry.terms, entry.request, {}});
      give_back.lease.back = std::exchange(entry.unused, {});
      give_back.lease.spent[0] = std::exchange(entry.used, {});
    }
  }
  return all;
}

}  // namespace weir::store
