// SPDX-License-Identifier: Apache-2.0
#include "store/lease_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "store/lease_rates.hpp"

namespace weir::store {

using limit::Charge;
using limit::Lease;
using limit::Terms;

namespace {

// A call whose answer never came does not block its key for longer.
constexpr std::int64_t kCallLostMs = 2000;

// Permits that one call brought.
struct Batch {
  std::int64_t permits = 0;
  std::int64_t used = 0;  // and not reported yet
  std::int64_t charged_at_ms = 0;
  std::int64_t ends_ms = 0;
};

// Adds to a report of one moment; what is of another moment and smaller is not reported (the store then
// believes it unused for longer).
void merge(Lease::Spent& into, const Lease::Spent& more) {
  if (more.count == 0) return;
  if (into.count > 0 && into.at_ms == more.at_ms) {
    into.count += more.count;
  } else if (more.count >= into.count) {
    into = more;
  }
}

}  // namespace

struct LeasePool::Entry {
  Hash128 id;
  std::int64_t touched_ms = 0;  // 0: empty
  Rate rate;
  FleetRate fleet;
  Terms terms;

  std::array<Batch, 2> batch;          // the first is spent first
  Lease::Spent used;                   // of batches that are gone
  std::array<Lease::Spent, 2> unused;  // likewise, to be given back
  std::int64_t debt = 0;               // passed on credit, and not charged yet
  std::int64_t last_granted = 0;
  std::int64_t called_ms = 0;  // a lease call is under way since; 0: none

  std::int64_t heard_ms = 0;  // 0: nothing was heard of the store
  std::int64_t remaining = 0;
  std::int64_t reset_at_ms = 0;
  std::int64_t tag_ends_ms = 0;  // kForever: not known, or none
  std::int64_t denied_until_ms = 0;
  std::int64_t denied_cost = 0;
  std::int64_t retry_at_ms = 0;

  limit::Request request;  // offset and bounds of the last lease
  std::string key;

  std::int64_t to_give_back() const { return unused[0].count + unused[1].count; }
  std::int64_t permits() const { return batch[0].permits + batch[1].permits; }
  bool calling(std::int64_t now_ms) const { return called_ms > 0 && now_ms - called_ms < kCallLostMs; }
  void deny(std::int64_t cost, std::int64_t retry_ms, std::int64_t now_ms) {
    denied_cost = cost;
    retry_at_ms = now_ms + retry_ms;
    denied_until_ms = now_ms + std::min(retry_ms, kDenialMs);
  }
};

struct LeasePool::Group {
  std::mutex mutex;
  std::array<Entry, kWays> entry;
};

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
    // A changed limit acts at once: what is held goes back with the next call.
    for (Batch& batch : entry->batch) batch.ends_ms = 0;
    entry->denied_until_ms = 0;
    entry->heard_ms = 0;
    entry->terms = charge.policy->terms;
  }
  entry->touched_ms = now_ms;
  return *entry;
}

void LeasePool::lapse(std::int64_t permits) {
  if (permits > 0) stats_.lapsed.fetch_add(static_cast<std::uint64_t>(permits), std::memory_order_relaxed);
}

// What a call was to give back: whether it arrived where no answer came, nobody knows.
void LeasePool::count_back(const Lease& lease, limit::Answered answered) {
  const std::int64_t back = lease.back[0].count + lease.back[1].count;
  if (answered != limit::Answered::store) return lapse(back);
  stats_.returned.fetch_add(static_cast<std::uint64_t>(back), std::memory_order_relaxed);
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
  Batch& gone = entry.batch[0];
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
  entry.batch[1] = Batch();
}

void LeasePool::refresh(Entry& entry, std::int64_t now_ms) {
  for (std::size_t n = 0; n < entry.batch.size(); ++n) {
    const Batch& first = entry.batch[0];
    if (first.charged_at_ms > 0 && (first.permits == 0 || now_ms >= first.ends_ms)) retire(entry);
  }
}

// While the next lease is on its way, and there was plenty when the store was last heard (or the window is
// new).
bool LeasePool::has_credit(const Entry& entry, std::int64_t cost, std::int64_t now_ms) const {
  if (options_.debt_permille == 0 || !entry.calling(now_ms) || entry.heard_ms == 0) return false;
  const bool renewed =
      entry.terms.algorithm == limit::AlgorithmKind::fixed_window && now_ms >= entry.tag_ends_ms;
  const bool plenty = entry.remaining > limit::capacity_of(entry.terms) / 10;
  if (!(renewed || (plenty && now_ms >= entry.denied_until_ms))) return false;
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
  Batch& batch = entry->batch[0];
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
  for (Batch& batch : entry->batch) {
    if (batch.charged_at_ms != taken.charged_at_ms) continue;
    batch.permits += cost;
    batch.used -= std::min(batch.used, cost);
    return;
  }
  if (entry->used.at_ms != taken.charged_at_ms || entry->used.count < cost) return lapse(cost);
  entry->used.count -= cost;
  leave_unused(*entry, {cost, taken.charged_at_ms});
}

void LeasePool::put_back(const Hash128& id, std::int64_t cost, std::int64_t now_ms) {
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry != nullptr) refresh(*entry, now_ms);
  Batch* const batch = entry == nullptr ? nullptr : &entry->batch[0];
  if (batch == nullptr || batch->charged_at_ms == 0 || batch->used < cost) return lapse(cost);
  batch->permits += cost;
  batch->used -= cost;
}

bool LeasePool::plan(const Hash128& id, const Charge& charge, std::int64_t now_ms, Lease& lease) {
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
  entry->called_ms = now_ms;
  if (entry->key.empty()) entry->key = charge.key;
  entry->request = charge.request;
  return true;
}

LeasePool::Booked LeasePool::book(const Hash128& id, const Charge& answered, const Times& times) {
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
    entry->deny(cost, std::max(verdict.retry_after_ms, gather), times.now_ms);
  } else if (lease != nullptr && verdict.remaining == 0 && lease->next_ms > 0) {
    entry->deny(1, std::max(lease->next_ms, gather), times.now_ms);
  } else if (verdict.remaining > 0) {
    entry->denied_until_ms = 0;
  }
  if (granted == 0) return booked;
  stats_.leases.fetch_add(1, std::memory_order_relaxed);
  stats_.granted.fetch_add(static_cast<std::uint64_t>(granted), std::memory_order_relaxed);
  const std::int64_t life = ends_in == kForever ? lease->life_ms : std::min(lease->life_ms, ends_in);
  const Batch batch{granted, 0, answered.request.now_ms, times.sent_ms + life - kLeaseGuardMs};
  refresh(*entry, times.now_ms);
  if (entry->batch[0].charged_at_ms == batch.charged_at_ms) {
    // Two calls within one millisecond of the store's: one batch, that ends with the first.
    entry->batch[0].permits += granted;
  } else {
    Batch& place = entry->batch[entry->batch[0].charged_at_ms == 0 ? 0 : 1];
    lapse(place.permits);  // of a call that was given up for lost, and answered after all
    place = batch;
  }
  entry->last_granted = granted;
  if (!(entry->terms == terms)) entry->batch[0].ends_ms = entry->batch[1].ends_ms = 0;
  booked.ends_ms = batch.ends_ms;
  return booked;
}

void LeasePool::doubt_denial(const Hash128& id) {
  Group& group = group_of(id);
  const std::lock_guard lock(group.mutex);
  Entry* const entry = find(group, id);
  if (entry != nullptr) entry->denied_until_ms = 0;
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
      for (const Batch& batch : entry.batch) leave_unused(entry, {batch.permits, batch.charged_at_ms});
      entry.batch = {};
      if (entry.to_give_back() == 0) continue;
      LeaseReturn& give_back = all.emplace_back(LeaseReturn{entry.key, entry.terms, entry.request, {}});
      give_back.lease.back = std::exchange(entry.unused, {});
      give_back.lease.spent[0] = std::exchange(entry.used, {});
    }
  }
  return all;
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
