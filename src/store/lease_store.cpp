// SPDX-License-Identifier: Apache-2.0
#include "store/lease_store.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

namespace weir::store {

using limit::Accounting;
using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::Enforcement;
using limit::kMaxLayers;
using limit::Lease;

namespace {

constexpr std::chrono::milliseconds kSweepEvery(50);
constexpr std::chrono::microseconds kFirstPause(500);
constexpr int kTurns = 3;  // of a request that the store refused for a lease that this process took

void add(std::atomic<std::uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// The layers of a set that the store below is asked for.
struct LeaseStore::Part {
  struct Here {
    bool taken = false;
    LeasePool::Taken permits;
  };
  ChargeSet set;
  std::array<std::size_t, kMaxLayers> origin;  // of each charge of `set`
  std::array<bool, kMaxLayers> rides;  // its layer has permits at hand; it only fetches the next lease
  std::array<Lease, kMaxLayers> lease;
  std::array<Hash128, kMaxLayers> id;  // by layer of the whole
  std::array<Here, kMaxLayers> here;   // likewise
  std::int64_t sent_ms = 0;

  void add(const Charge& charge, std::size_t from) {
    origin[set.size] = from;
    rides[set.size] = false;
    set.charge[set.size++] = charge;
  }
  bool refuses() const { return std::ranges::any_of(set.charges(), &Charge::refuses); }
};

LeaseStore::LeaseStore(boost::asio::any_io_executor executor, LeasePool& pool, limit::CounterStore& below,
                       const Clock& clock, Renewed renewed)
    : executor_(std::move(executor)),
      pool_(pool),
      below_(below),
      clock_(clock),
      renewed_(std::move(renewed)),
      timer_(executor_, kSweepEvery, [this] {
        sweep();
        return !watched_.empty();
      }) {}

LeaseStore::~LeaseStore() = default;

bool LeaseStore::decide_now(ChargeSet& set) {
  if (set.accounting == Accounting::relaxed) return below_.decide_now(set);
  return count(answer_here(set, LeasePool::Arrival::counted));
}

boost::asio::awaitable<void> LeaseStore::decide(ChargeSet& set) {
  if (set.accounting == Accounting::relaxed) {
    if (!below_.decide_now(set)) co_await below_.decide(set);
    co_return;
  }
  if (count(answer_here(set, LeasePool::Arrival::seen))) co_return;
  std::unique_ptr<Part> part = spares_.take();
  add(stats_.asked);
  for (int turn = 0; turn < kTurns; ++turn) {
    gather(set, *part);
    if (!below_.decide_now(part->set)) co_await below_.decide(part->set);
    conclude(set, *part);
    OwnLease lease = own_lease(set);
    if (lease == OwnLease::coming) lease = co_await arrival_of_own_lease(set);
    if (lease == OwnLease::none || answer_here(set, LeasePool::Arrival::seen) != Here::no) break;
  }
  spares_.give_back(std::move(part));
}

bool LeaseStore::count(Here answer) {
  if (answer != Here::no) add(answer == Here::refused ? stats_.denials : stats_.hits);
  return answer != Here::no;
}

// While a request was asked for, another one's lease took the last permits: they are not gone, but here, or
// on their way to whichever worker asked for them.
LeaseStore::OwnLease LeaseStore::own_lease(const ChargeSet& set) {
  if (set.store_error) return OwnLease::none;
  const std::int64_t now_ms = clock_.monotonic_ms();
  bool refused = false;
  bool all_here = true;
  for (const Charge& charge : set.charges()) {
    if (!charge.refuses()) continue;
    if (charge.is_slot() || charge.answered != Answered::store) return OwnLease::none;
    const LeasePool::Look look =
        pool_.look(pool_.id_of(charge.key), charge, now_ms, LeasePool::Arrival::seen);
    const bool is_here = look.answer == LeasePool::Answer::ready || look.returns;
    if (!is_here && !look.calling) return OwnLease::none;
    refused = true;
    all_here = all_here && is_here;
  }
  if (!refused) return OwnLease::none;
  return all_here ? OwnLease::here : OwnLease::coming;
}

// The call may be another worker's, and ends within the store's timeout.
boost::asio::awaitable<LeaseStore::OwnLease> LeaseStore::arrival_of_own_lease(const ChargeSet& set) {
  OwnLease lease = OwnLease::coming;
  boost::asio::steady_timer pause(executor_);
  for (auto wait = kFirstPause; lease == OwnLease::coming; wait *= 2) {
    pause.expires_after(wait);
    co_await pause.async_wait(boost::asio::use_awaitable);
    lease = own_lease(set);
  }
  co_return lease;
}

void LeaseStore::gather(ChargeSet& set, Part& part) {
  const std::int64_t now_ms = clock_.monotonic_ms();
  part.sent_ms = now_ms;
  part.set.clear();
  part.set.accounting = set.accounting;
  for (std::size_t n = 0; n < set.size; ++n) {
    const Charge& charge = set.charge[n];
    part.here[n].taken = false;
    if (charge.is_slot()) {
      part.add(charge, n);
      continue;
    }
    part.id[n] = pool_.id_of(charge.key);
    const auto permits = pool_.take(part.id[n], charge, now_ms, LeasePool::Use::pending);
    if (permits) part.here[n] = {true, *permits};
    const std::size_t place = part.set.size;
    const bool wants = !permits || permits->low;
    part.lease[place] = Lease();
    const bool leases = wants && pool_.plan(part.id[n], charge, now_ms, renewed_, part.lease[place]);
    if (permits && !leases) continue;
    part.add(charge, n);
    Charge& asked = part.set.charge[place];
    if (leases) asked.lease = &part.lease[place];
    if (!permits) continue;
    part.rides[place] = true;
    asked.request.cost = 0;
    asked.enforcement = Enforcement::shadow;
  }
}

void LeaseStore::conclude(ChargeSet& set, Part& part) {
  const bool failed = static_cast<bool>(part.set.store_error);
  const bool refused = failed || part.refuses();
  for (std::size_t place = 0; place < part.set.size; ++place) {
    Charge& answered = part.set.charge[place];
    const std::size_t n = part.origin[place];
    if (failed) answered.answered = Answered::local;  // its verdict means nothing
    if (!answered.is_slot()) book(part.id[n], answered, part.sent_ms);
    if (part.rides[place]) continue;
    // What its lease brought is still there for this key.
    if (answered.lease != nullptr) {
      limit::Verdict& verdict = answered.verdict;
      verdict.remaining =
          std::min(verdict.remaining + answered.lease->granted, limit::capacity_of(answered.policy->terms));
    }
    answered.lease = nullptr;
    set.charge[n] = answered;
  }
  for (std::size_t n = 0; n < set.size; ++n) {
    if (!part.here[n].taken) continue;
    Charge& charge = set.charge[n];
    charge.answered = Answered::store;
    charge.verdict = part.here[n].permits.verdict;
    charge.charged = !refused;
    charge.request.now_ms = part.set.store_now_ms;
    if (!refused) {
      pool_.use(part.id[n], part.here[n].permits, charge.request.cost);
      continue;
    }
    charge.verdict.remaining =
        std::min(charge.verdict.remaining + charge.request.cost, limit::capacity_of(charge.policy->terms));
    pool_.give_back(part.id[n], part.here[n].permits, charge.request.cost);
  }
  set.store_now_ms = part.set.store_now_ms;
  set.store_error = part.set.store_error;
}

void LeaseStore::book(const Hash128& id, const Charge& answered, std::int64_t sent_ms) {
  const LeasePool::Booked booked = pool_.book(id, answered, {sent_ms, clock_.monotonic_ms()}, renewed_);
  if (booked.debt > 0) pay(answered, booked.debt);
  if (booked.ends_ms == 0) return;
  stats_.sizes.observe(answered.lease->granted);
  watch(booked.ends_ms, id);
}

// A settlement, which the store never refuses.
void LeaseStore::pay(const Charge& answered, std::int64_t debt) {
  ChargeSet one;
  one.charge[0] = answered;
  one.charge[0].charged = true;
  one.charge[0].lease = nullptr;
  one.size = 1;
  one.store_now_ms = answered.request.now_ms;
  below_.settle(one, debt);
}

boost::asio::awaitable<void> LeaseStore::peek(ChargeSet& set) {
  return below_.peek(set);
}

void LeaseStore::settle(const ChargeSet& set, std::int64_t delta) {
  below_.settle(set, delta);
  if (delta >= 0) return;
  for (const Charge& charge : set.charges()) {
    if (charge.charged) pool_.doubt_denial(pool_.id_of(charge.key));
  }
}

void LeaseStore::release(const ChargeSet& set) {
  below_.release(set);
}

void LeaseStore::renew(const ChargeSet& set) {
  below_.renew(set);
}

}  // namespace weir::store
