// SPDX-License-Identifier: Apache-2.0
#include "store/pool_store.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/hash.hpp"
#include "store/pool_work.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::Lease;

namespace {

constexpr std::int64_t kTicketBits = 52;
constexpr std::chrono::milliseconds kSweepEvery(100);
constexpr std::chrono::milliseconds kFirstPause(2);

void add(std::atomic<std::uint64_t>& counter, std::int64_t count = 1) {
  counter.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
}

}  // namespace

PoolStore::PoolStore(const Parts& parts)
    : parts_(parts), random_(std::random_device{}()), timer_(parts.region->executor(), kSweepEvery, [this] {
        sweep();
        return parts_.pools.watches();
      }) {
  const Breaker::Options options{.pause_max_ms = 2000};
  const std::size_t lanes = parts_.region->sharded() ? redis::kLanes : 1;
  for (std::size_t lane = 0; lane < lanes; ++lane) lanes_.push_back({Breaker(options, random_()), {}, {}});
}

PoolStore::~PoolStore() = default;

redis::Slot PoolStore::slot_of(std::string_view key) const {
  return parts_.region->sharded() ? redis::slot_of(key) : redis::Slot{0};
}

PoolStore::Lane& PoolStore::lane_of(redis::Slot slot) {
  return parts_.region->sharded() ? lanes_[parts_.region->lane_of(slot)] : lanes_.front();
}

std::int64_t PoolStore::next_ticket() {
  return static_cast<std::int64_t>(random_() >> (64 - kTicketBits)) + 1;
}

bool PoolStore::decide_now(ChargeSet&) {
  return false;
}

boost::asio::awaitable<void> PoolStore::decide(ChargeSet& set) {
  set.store_error = {};
  if (set.accounting == limit::Accounting::relaxed) {
    co_await ask_alone(set, Told::unasked);
    note_uses(set);
    co_return;
  }
  std::unique_ptr<Work> work = spares_.take();
  work->reports = PoolCall::Reports::yes;
  const Told told = co_await take(set, *work);
  if (told == Told::answered) {
    write_down(set, *work);
    const bool again = !work->refused && co_await settle_with_parent(set, *work);
    if (again) co_await look_again(set, *work);
  } else {
    add(stats_.ill);
    co_await ask_alone(set, told);
  }
  spares_.give_back(std::move(work));
  note_uses(set);
  if (parts_.pools.closing()) return_all();
  watch();
}

// What the pool has none of. True if it is worth to look there again.
boost::asio::awaitable<bool> PoolStore::settle_with_parent(ChargeSet& set, Work& work) {
  for (std::size_t n = 0; n < set.size; ++n) {
    const PoolAnswer& found = work.answer[n];
    if (found.order && !is_missing(found, set.charge[n])) fetch_for(set.charge[n], *found.order);
  }
  if (work.missing.set.size == 0) co_return false;
  const bool again = co_await ask_for_missing(set, work);
  co_return again;
}

// After a refusal of the parent, which stands unless all that was missing is in the pool by now, or as soon
// as whoever fetches is back.
boost::asio::awaitable<void> PoolStore::look_again(ChargeSet& set, Work& work) {
  work.reports = PoolCall::Reports::no;
  boost::asio::steady_timer pause(parts_.region->executor());
  for (std::chrono::milliseconds wait = kFirstPause;; wait *= 2) {
    const Told told = co_await take(set, work);
    if (told != Told::answered || work.refused) co_return;
    bool misses = false;
    bool coming = false;
    for (std::size_t n = 0; n < set.size; ++n) {
      const PoolAnswer& found = work.answer[n];
      if (found.order) fetch_for(set.charge[n], *found.order);
      const bool missing = is_missing(found, set.charge[n]);
      misses = misses || missing;
      coming = coming || (missing && found.fetching);
    }
    if (!misses) co_return write_down(set, work);
    put_back(set, work, Part::all);
    if (!coming || wait > parts_.parent_timeout) co_return;
    pause.expires_after(wait);
    co_await pause.async_wait(boost::asio::use_awaitable);
  }
}

// Leases are as long as the region's, so that the parent lends nobody for less; what is used of them is not.
// What was to be given back is not sent again where the pool may have got it.
boost::asio::awaitable<void> PoolStore::ask_alone(ChargeSet& set, Told told) {
  std::array<std::int64_t, limit::kMaxLayers> life_ms;
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    if (charge.lease == nullptr) continue;
    life_ms[n] = charge.lease->life_ms;
    charge.lease->life_ms = std::max(life_ms[n], lease_life_ms(charge.policy->terms, parts_.lease));
    if (told == Told::unasked) continue;
    charge.lease->back = {};
    charge.lease->spent = {};
  }
  if (!parts_.parent.decide_now(set)) co_await parts_.parent.decide(set);
  for (std::size_t n = 0; n < set.size; ++n) {
    if (set.charge[n].lease != nullptr) set.charge[n].lease->life_ms = life_ms[n];
  }
}

// True if it is worth to look into the pool again: the parent has no more, but has given some away.
boost::asio::awaitable<bool> PoolStore::ask_for_missing(ChargeSet& set, Work& work) {
  ChainPart& part = work.missing;
  bool fetches = false;
  for (std::size_t k = 0; k < part.set.size; ++k) {
    Charge& charge = part.set.charge[k];
    const std::size_t n = part.origin[k];
    const auto& order = work.answer[n].order;
    charge.lease = nullptr;
    add(stats_.asked);
    if (!order) continue;
    fetches = true;
    work.lease[n] = lease_of(charge.policy->terms, parts_.lease, *order);
    tell_what_was_seen(charge.key, *order, work.lease[n]);
    if (asks_anything(work.lease[n])) charge.lease = &work.lease[n];
  }
  if (!parts_.parent.decide_now(part.set)) co_await parts_.parent.decide(part.set);
  bool charged = false;
  for (std::size_t k = 0; k < part.set.size; ++k) {
    Charge& answered = part.set.charge[k];
    const std::size_t n = part.origin[k];
    charged = charged || answered.charged || answered.answered != Answered::store;
    follow_up(answered, work.answer[n]);
    Lease* const own = set.charge[n].lease;
    if (answered.lease != nullptr) {
      const std::int64_t capacity = limit::capacity_of(answered.policy->terms);
      answered.verdict.remaining = std::min(answered.verdict.remaining + answered.lease->granted, capacity);
    }
    answered.lease = own;
    if (own != nullptr) own->granted = own->next_ms = 0;
    if (answered.answered == Answered::store)
      parent_ahead_ms_ = answered.request.now_ms - parts_.clock.monotonic_ms();
    set.charge[n] = answered;
  }
  set.store_now_ms = set.charge[0].request.now_ms;
  const bool refused = part.refuses();
  const bool again = refused && !charged && !fetches;
  if (refused) put_back(set, work, again ? Part::all : Part::cost);
  co_return again;
}

void PoolStore::note_uses(const ChargeSet& set) {
  for (const Charge& charge : set.charges()) {
    if (!charge.charged || charge.answered != Answered::store) continue;
    const std::int64_t lent = charge.lease == nullptr ? 0 : charge.lease->granted;
    parts_.uses.note(counter_id(charge.key), charge.request.cost + lent);
  }
}

boost::asio::awaitable<void> PoolStore::peek(ChargeSet& set) {
  return parts_.parent.peek(set);
}

void PoolStore::settle(const ChargeSet& set, std::int64_t delta) {
  parts_.parent.settle(set, delta);
}

void PoolStore::release(const ChargeSet& set) {
  parts_.parent.release(set);
}

void PoolStore::renew(const ChargeSet& set) {
  parts_.parent.renew(set);
}

}  // namespace weir::store
