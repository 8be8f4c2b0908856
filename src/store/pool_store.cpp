// SPDX-License-Identifier: Apache-2.0
#include "store/pool_store.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.hpp"
#include "redis/error.hpp"
#include "store/chain_part.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::Lease;
using Status = PoolAnswer::Status;

namespace {

constexpr std::int64_t kTicketBits = 52;
constexpr std::chrono::milliseconds kSweepEvery(100);

void add(std::atomic<std::uint64_t>& counter, std::int64_t count = 1) {
  counter.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
}

bool is_missing(const PoolAnswer& found, const Charge& charge) {
  return found.status == Status::empty && charge.request.cost > 0;
}

}  // namespace

// What is known of a set on its way; by layer.
struct PoolStore::Work {
  std::array<PoolAnswer, limit::kMaxLayers> answer;
  std::array<bool, limit::kMaxLayers> asked;
  std::array<Lease, limit::kMaxLayers> lease;  // the region's, of layers that are missing
  ChainPart missing;
  PoolCall call;
  PoolCall::Reports reports = PoolCall::Reports::yes;
  bool refused = false;
};

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
    if (again) co_await look_once_more(set, *work);
  } else {
    add(stats_.ill);
    co_await ask_alone(set, told);
  }
  spares_.give_back(std::move(work));
  note_uses(set);
  if (parts_.pools.closing()) return_all();
  watch();
}

// What the pool has none of. True if it is worth to look there once more.
boost::asio::awaitable<bool> PoolStore::settle_with_parent(ChargeSet& set, Work& work) {
  for (std::size_t n = 0; n < set.size; ++n) {
    const PoolAnswer& found = work.answer[n];
    if (found.order && !is_missing(found, set.charge[n])) fetch_for(set.charge[n], *found.order);
  }
  if (work.missing.set.size == 0) co_return false;
  const bool again = co_await ask_for_missing(set, work);
  co_return again;
}

// After a refusal of the parent, which stands unless all that was missing is in the pool by now.
boost::asio::awaitable<void> PoolStore::look_once_more(ChargeSet& set, Work& work) {
  work.reports = PoolCall::Reports::no;
  const Told told = co_await take(set, work);
  if (told != Told::answered || work.refused) co_return;
  bool misses = false;
  for (std::size_t n = 0; n < set.size; ++n) {
    const PoolAnswer& found = work.answer[n];
    if (found.order) fetch_for(set.charge[n], *found.order);
    misses = misses || is_missing(found, set.charge[n]);
  }
  if (misses) {
    put_back(set, work, Part::all);
  } else {
    write_down(set, work);
  }
}

// ----------------------------------------------------------------------------------------------- the pool

boost::asio::awaitable<PoolStore::Told> PoolStore::take(ChargeSet& set, Work& work) {
  work.refused = false;
  std::fill_n(work.asked.begin(), set.size, false);
  Told told = Told::answered;
  for (std::size_t first = 0; first < set.size && told == Told::answered && !work.refused; ++first) {
    if (work.asked[first]) continue;
    std::array<std::uint8_t, limit::kMaxLayers> members;
    std::size_t count = 0;
    const redis::Slot slot = slot_of(set.charge[first].key);
    for (std::size_t n = first; n < set.size; ++n) {
      if (slot_of(set.charge[n].key) != slot) continue;
      members[count++] = static_cast<std::uint8_t>(n);
    }
    const Members part(members.data(), count);
    told = co_await take_part(set, work, part);
    const bool some_know = first > 0;
    if (told == Told::unasked && some_know) told = Told::unanswered;
    for (const std::uint8_t n : part) work.asked[n] = told == Told::answered;
  }
  if (told != Told::answered || work.refused) put_back(set, work, Part::all);
  co_return told;
}

boost::asio::awaitable<PoolStore::Told> PoolStore::take_part(ChargeSet& set, Work& work, Members members) {
  const redis::Slot slot = slot_of(set.charge[members.front()].key);
  Lane& lane = lane_of(slot);
  if (lane.breaker.state() == Breaker::State::open && parts_.region->came_up_after(slot, lane.failed))
    lane.breaker.hurry(parts_.clock.monotonic_ms());
  const Breaker::Pass pass = lane.breaker.admit(parts_.clock.monotonic_ms());
  if (pass == Breaker::Pass::refused) co_return Told::unasked;
  const bool known = co_await knows_server(lane, slot);
  if (!known) {
    lane.breaker.failed(pass, parts_.clock.monotonic_ms());
    lane.failed = std::chrono::steady_clock::now();
    co_return Told::unasked;
  }
  const std::int64_t ticket = draining_ ? 0 : next_ticket();  // 0: asks for no order
  const auto ahead = std::min(parts_.lease.ahead, parts_.lease.max_age / 4);
  PoolCall& asked = work.call;
  asked.start("take", lane.server);
  asked.add(ticket);
  asked.add(static_cast<std::int64_t>(hot_rate(parts_.lease) * 1000));
  asked.add(ahead.count());
  asked.add(hold_ms());
  for (const std::uint8_t n : members) asked.add_layer(set.charge[n], work.reports);
  const Result<redis::Reply> reply = co_await call(set.charge[members.front()].key, asked);
  const std::int64_t now_ms = parts_.clock.monotonic_ms();
  const bool outage = !reply && redis::is_outage(reply.error());
  if (outage) {
    lane.breaker.failed(pass, now_ms);
    lane.failed = std::chrono::steady_clock::now();
  } else {
    lane.breaker.succeeded(pass, now_ms);
  }
  // From another server than the one that was asked for its name: that may be a copy that lags behind.
  if (!reply || parts_.region->came_up_after(slot, lane.verified)) co_return Told::unanswered;
  if (read(*reply, set, work, members, ticket)) co_return Told::answered;
  parts_.region->distrust(slot);
  co_return Told::unanswered;
}

bool PoolStore::read(const redis::Reply& reply, ChargeSet& set, Work& work, Members members,
                     std::int64_t ticket) {
  PoolAnswers answers(reply, ticket);
  for (const std::uint8_t n : members) {
    if (!answers.read(work.answer[n])) return false;
  }
  if (!answers.complete()) return false;
  const std::int64_t now_ms = parts_.clock.monotonic_ms();
  for (const std::uint8_t n : members) {
    const PoolAnswer& found = work.answer[n];
    parts_.pools.note(set.charge[n], found, now_ms);
    work.refused = work.refused || (found.status == Status::denied && set.charge[n].enforces());
  }
  return true;
}

// The pool's answers, into the set; what is missing, into the work.
void PoolStore::write_down(ChargeSet& set, Work& work) {
  work.missing.set.clear();
  work.missing.set.accounting = set.accounting;
  const std::int64_t now_ms = parts_.clock.monotonic_ms();
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    const PoolAnswer found = work.asked[n] ? work.answer[n] : PoolAnswer();
    if (is_missing(found, charge) && !work.refused) {
      work.missing.add(charge, n);
      continue;
    }
    add(stats_.pooled);
    const limit::Terms& terms = charge.policy->terms;
    const bool taken = found.status == Status::taken && !work.refused;
    const std::int64_t capacity = limit::capacity_of(terms);
    if (found.at_ms > 0) parent_ahead_ms_ = found.at_ms - now_ms;
    charge.answered = Answered::store;
    charge.charged = taken && charge.request.cost > 0;
    charge.request.now_ms = found.at_ms > 0 ? found.at_ms : now_ms + parent_ahead_ms_;
    const bool within = found.status != Status::denied;
    charge.verdict = {.within_limit = within,
                      .limit = terms.limit,
                      .remaining = found.remaining < 0 ? capacity : std::min(found.remaining, capacity),
                      .retry_after_ms = within ? 0 : std::max<std::int64_t>(1, found.wait_ms),
                      .reset_ms = found.reset_ms};
    if (charge.lease == nullptr) continue;
    charge.lease->granted = taken ? found.granted : 0;
    charge.lease->next_ms = charge.lease->granted == 0 ? found.wait_ms : 0;
    if (taken && found.granted > 0) charge.lease->life_ms = std::min(charge.lease->life_ms, found.life_ms);
  }
  if (set.size > 0) set.store_now_ms = set.charge[0].request.now_ms;
}

void PoolStore::put_back(ChargeSet& set, const Work& work, Part what) {
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    const PoolAnswer& found = work.answer[n];
    const std::int64_t lent = what == Part::all ? found.granted : 0;
    if (!work.asked[n] || found.status != Status::taken || charge.request.cost + lent == 0) continue;
    auto asked = std::make_unique<PoolCall>();
    asked->start("put", lane_of(slot_of(charge.key)).server);
    asked->add_key(charge.key);
    asked->add(charge.request.cost);
    asked->add(lent);
    asked->add(found.at_ms);
    spawn(tell(std::string(charge.key), std::move(asked)));
    if (what == Part::all && charge.lease != nullptr) charge.lease->granted = 0;
    if (!std::exchange(charge.charged, false)) continue;
    charge.verdict.remaining =
        std::min(charge.verdict.remaining + charge.request.cost, limit::capacity_of(charge.policy->terms));
  }
}

// ---------------------------------------------------------------------------------------------- the parent

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

// True if it is worth to look into the pool once more: the parent has no more, but has given some away.
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
