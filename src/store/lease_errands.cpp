// SPDX-License-Identifier: Apache-2.0
// What a LeaseStore asks the store below without a request: leases ahead of need, and permits that go back.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <utility>

#include "store/lease_store.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::Enforcement;
using limit::Lease;

struct LeaseStore::Errand {
  Hash128 id;
  std::string key;
  limit::Policy policy;
  Lease lease;
  ChargeSet set;

  // As a shadow layer for 0 permits: never refused, and not refusing.
  void fill(const limit::Request& request) {
    policy.enforcement = Enforcement::shadow;
    Charge& charge = set.charge[0];
    charge.policy = &policy;
    charge.key = key;
    charge.request = request;
    charge.request.cost = 0;
    charge.enforcement = Enforcement::shadow;
    charge.lease = &lease;
    set.size = 1;
  }
};

void LeaseStore::fetch(const Hash128& id, const Charge& charge, std::int64_t now_ms) {
  auto errand = std::make_unique<Errand>();
  if (!pool_.plan(id, charge, now_ms, renewed_, errand->lease)) return;
  stats_.fetches.fetch_add(1, std::memory_order_relaxed);
  errand->id = id;
  errand->key = charge.key;
  errand->policy.terms = charge.policy->terms;
  errand->fill(charge.request);
  spawn(std::move(errand));
}

void LeaseStore::send_back(LeaseReturn give_back, const Hash128& id) {
  stats_.returns.fetch_add(1, std::memory_order_relaxed);
  auto errand = std::make_unique<Errand>();
  errand->id = id;
  errand->key = std::move(give_back.key);
  errand->policy.terms = give_back.terms;
  errand->lease = give_back.lease;
  errand->fill(give_back.request);
  spawn(std::move(errand));
}

void LeaseStore::spawn(std::unique_ptr<Errand> errand) {
  errands_.fetch_add(1);
  boost::asio::co_spawn(executor_, run(std::move(errand)), boost::asio::detached);
}

boost::asio::awaitable<void> LeaseStore::run(std::unique_ptr<Errand> errand) {
  const std::int64_t sent_ms = clock_.monotonic_ms();
  ChargeSet& set = errand->set;
  if (!below_.decide_now(set)) co_await below_.decide(set);
  if (set.store_error) set.charge[0].answered = Answered::local;
  book(errand->id, set.charge[0], sent_ms);
  errands_.fetch_sub(1);
}

void LeaseStore::watch(std::int64_t due_ms, const Hash128& id) {
  watched_.push({due_ms, id});
  timer_.arm();
}

void LeaseStore::sweep() {
  const std::int64_t now_ms = clock_.monotonic_ms();
  while (!watched_.empty() && watched_.top().due_ms <= now_ms) {
    const Hash128 id = watched_.top().id;
    watched_.pop();
    LeasePool::Over over = pool_.over(id, now_ms);
    if (over.give_back) send_back(std::move(*over.give_back), id);
    if (over.look_again_ms > 0) watched_.push({std::max(over.look_again_ms, now_ms + 1), id});
  }
}

void LeaseStore::drain() {
  for (LeaseReturn& each : pool_.close()) {
    const Hash128 id = pool_.id_of(each.key);
    send_back(std::move(each), id);
  }
  drained_.store(true);
}

void LeaseStore::close() {
  timer_.close();
}

}  // namespace weir::store
