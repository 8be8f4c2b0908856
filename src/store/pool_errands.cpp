// SPDX-License-Identifier: Apache-2.0
// What a PoolStore does without a request that waits for it: it fetches a region's next batch, tells the
// pool what the parent said, and gives back what is over.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "base/hash.hpp"
#include "store/pool_store.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::Enforcement;
using limit::Lease;

namespace {

constexpr std::chrono::milliseconds kLostAfter(2000);  // a fetcher that is silent for so long has died
constexpr std::chrono::milliseconds kPauseAfterFault(250);
constexpr std::chrono::milliseconds kPauseWithoutNeed(100);

}  // namespace

// One layer on its way, as a shadow for 0 permits: never refused, and not refusing.
struct PoolStore::Errand {
  Errand(std::string_view counter, const limit::Terms& terms, const limit::Request& request) : key(counter) {
    policy.terms = terms;
    policy.scope = limit::Scope::global;
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
  // After a request of its own that the parent has answered.
  explicit Errand(const Charge& answered) : Errand(answered.key, answered.policy->terms, answered.request) {
    if (answered.lease != nullptr) lease = *answered.lease;
    Charge& charge = set.charge[0];
    charge.request.cost = answered.request.cost;
    charge.answered = answered.answered;
    charge.charged = answered.charged;
    charge.verdict = answered.verdict;
    if (answered.lease == nullptr) charge.lease = nullptr;
  }
  Charge& charge() { return set.charge[0]; }

  std::string key;
  limit::Policy policy;
  Lease lease;
  PoolOrder order;
  ChargeSet set;
};

std::int64_t PoolStore::hold_ms() const {
  return std::max(kLostAfter, parts_.parent_timeout + std::chrono::milliseconds(1000)).count();
}

void PoolStore::spawn(boost::asio::awaitable<void> work) {
  errands_.fetch_add(1);
  boost::asio::co_spawn(parts_.region->executor(), count_down(std::move(work)), boost::asio::detached);
}

boost::asio::awaitable<void> PoolStore::count_down(boost::asio::awaitable<void> work) {
  co_await std::move(work);
  errands_.fetch_sub(1);
}

// ---------------------------------------------------------------------------------------------- the region

boost::asio::awaitable<Result<redis::Reply>> PoolStore::call(std::string_view key, PoolCall& asked) {
  const auto deadline = std::chrono::steady_clock::now() + parts_.timeout;
  return parts_.region->call(parts_.script, slot_of(key), asked.write(), deadline);
}

// Which server it is that answers for the slot. False: it does not.
boost::asio::awaitable<bool> PoolStore::knows_server(Lane& lane, redis::Slot slot) {
  if (lane.known && !parts_.region->came_up_after(slot, lane.verified)) co_return true;
  PoolCall asked;
  asked.start("server", 0);
  const redis::TimePoint began = std::chrono::steady_clock::now();
  const redis::TimePoint deadline = began + parts_.timeout;
  const Result<redis::Reply> reply =
      co_await parts_.region->call(parts_.script, slot, asked.write(), deadline);
  if (!reply || reply->type != redis::Reply::Type::text) co_return false;
  constexpr int kDigits = 53;
  lane.server =
      reply->text.empty() ? 0 : static_cast<std::int64_t>(stable_hash(reply->text) >> (64 - kDigits));
  lane.verified = began;
  lane.known = true;
  co_return !parts_.region->came_up_after(slot, began);
}

boost::asio::awaitable<void> PoolStore::tell(std::string key, std::unique_ptr<PoolCall> asked) {
  co_await call(key, *asked);
}

void PoolStore::let_go(std::string key, const PoolOrder& order, std::chrono::milliseconds pause) {
  auto asked = std::make_unique<PoolCall>();
  asked->start("failed", lane_of(slot_of(key)).server);
  asked->add_key(key);
  asked->add(order.ticket);
  asked->add(pause.count());
  spawn(tell(std::move(key), std::move(asked)));
}

// ------------------------------------------------------------------------------------------------- fetching

void PoolStore::fetch_for(const Charge& charge, const PoolOrder& order) {
  auto errand = std::make_unique<Errand>(charge.key, charge.policy->terms, charge.request);
  errand->order = order;
  spawn(fetch(std::move(errand)));
}

boost::asio::awaitable<void> PoolStore::fetch(std::unique_ptr<Errand> errand) {
  errand->lease = lease_of(errand->policy.terms, parts_.lease, errand->order);
  tell_what_was_seen(errand->key, errand->order, errand->lease);
  if (!asks_anything(errand->lease)) {
    let_go(std::move(errand->key), errand->order, kPauseWithoutNeed);
    co_return;
  }
  if (!parts_.parent.decide_now(errand->set)) co_await parts_.parent.decide(errand->set);
  co_await hand_in(std::move(errand));
}

// A request has been to the parent: the pool is to know what was said.
void PoolStore::follow_up(const Charge& answered, const PoolAnswer& found) {
  const bool refused = answered.answered == Answered::store && !answered.verdict.within_limit;
  if (found.order) {
    auto errand = std::make_unique<Errand>(answered);
    errand->order = *found.order;
    spawn(hand_in(std::move(errand)));
  } else if (refused && answered.verdict.retry_after_ms > 0) {
    PoolOrder order;
    order.asked_ms = found.now_ms;
    const PoolWord word = word_of(answered, parts_.lease, order);
    auto asked = std::make_unique<PoolCall>();
    asked->start("heard", lane_of(slot_of(answered.key)).server);
    asked->add_key(answered.key);
    for (const std::int64_t value :
         {word.asked_ms, word.remaining, word.reset_ms, word.tag_ends_ms, word.deny_ms, word.deny_cost})
      asked->add(value);
    spawn(tell(std::string(answered.key), std::move(asked)));
  }
}

// Of what a pool does not take, the permits go back where they came from.
boost::asio::awaitable<void> PoolStore::hand_in(std::unique_ptr<Errand> errand) {
  const Charge& answered = errand->charge();
  if (errand->set.store_error || answered.answered != Answered::store) {
    let_go(std::move(errand->key), errand->order, kPauseAfterFault);
    co_return;
  }
  for (const Lease::Spent& back : errand->lease.back)
    stats_.returned.fetch_add(static_cast<std::uint64_t>(back.count), std::memory_order_relaxed);
  PoolWord word = word_of(answered, parts_.lease, errand->order);
  const Lease::Seen& before = errand->order.seen;
  const bool knows_less = word.seen.used < before.used && before.ends_ms > word.at_ms;
  if (knows_less && errand->lease.seen.ends_ms == 0 && is_renewed(errand->key, errand->order))
    word.seen = before;
  PoolCall asked;
  asked.start("fill", lane_of(slot_of(errand->key)).server);
  asked.add_key(errand->key);
  for (const std::int64_t value :
       {errand->order.ticket, word.permits, word.at_ms, word.ends_ms, word.worth, word.asked_ms,
        word.remaining, word.reset_ms, word.tag_ends_ms, word.deny_ms, word.deny_cost,
        static_cast<std::int64_t>(word.fleet_rate * 1000), word.seen.used, word.seen.ends_ms,
        word.seen.at_ms})
    asked.add(value);
  const Result<redis::Reply> reply = co_await call(errand->key, asked);
  const bool said = reply && reply->elements.size() == 2;
  const bool taken = said && reply->elements[1].integer == 1;
  if (word.permits == 0 || !said) co_return;
  if (!taken) {
    const Lease::Spent unused{word.permits, word.at_ms};
    co_await pass_back(std::move(errand), unused);
    co_return;
  }
  stats_.leases.fetch_add(1, std::memory_order_relaxed);
  stats_.granted.fetch_add(static_cast<std::uint64_t>(word.permits), std::memory_order_relaxed);
  PoolAnswer seen;
  seen.live = word.permits;
  seen.live_ms = word.ends_ms - word.asked_ms;
  parts_.pools.note(answered, seen, parts_.clock.monotonic_ms());
  watch();
}

boost::asio::awaitable<void> PoolStore::pass_back(std::unique_ptr<Errand> errand, Lease::Spent unused) {
  errand->lease = Lease();
  errand->lease.back[0] = unused;
  errand->lease.life_ms = lease_life_ms(errand->policy.terms, parts_.lease);
  errand->charge().lease = &errand->lease;
  errand->charge().request.cost = 0;
  errand->set.store_error = {};
  if (!parts_.parent.decide_now(errand->set)) co_await parts_.parent.decide(errand->set);
  if (errand->charge().answered != Answered::store) co_return;
  stats_.returned.fetch_add(static_cast<std::uint64_t>(unused.count), std::memory_order_relaxed);
}

bool PoolStore::is_renewed(std::string_view key, const PoolOrder& order) const {
  if (!parts_.renewed || order.age_ms < 0) return false;
  return parts_.renewed(key, parts_.clock.monotonic_ms() - order.age_ms);
}

void PoolStore::tell_what_was_seen(std::string_view key, const PoolOrder& order, Lease& lease) const {
  if (order.seen.ends_ms > 0 && is_renewed(key, order)) lease.seen = order.seen;
}

// ----------------------------------------------------------------------------------------------- giving back

boost::asio::awaitable<void> PoolStore::look_at(RegionPools::Known known) {
  const redis::Slot slot = slot_of(known.key);
  Lane& lane = lane_of(slot);
  const bool reached = co_await knows_server(lane, slot);
  if (!reached) co_return;
  auto errand = std::make_unique<Errand>(known.key, known.terms, known.request);
  const std::int64_t ticket = next_ticket();
  PoolCall asked;
  asked.start("sweep", lane.server);
  asked.add_key(known.key);
  asked.add(ticket);
  asked.add(hold_ms());
  asked.add(parts_.pools.closing() ? 1 : 0);
  const Result<redis::Reply> reply = co_await call(known.key, asked);
  if (!reply) co_return;
  PoolAnswers answers(*reply, ticket);
  PoolAnswer found;
  if (!answers.read(found)) co_return;
  const bool goes_back = found.order.has_value();
  if (goes_back) found.rest = 0;
  parts_.pools.note(errand->charge(), found, parts_.clock.monotonic_ms());
  if (!goes_back) co_return;
  errand->order = *found.order;
  errand->lease.back = found.order->back;
  errand->lease.spent = found.order->spent;
  errand->lease.life_ms = lease_life_ms(known.terms, parts_.lease);
  if (!parts_.parent.decide_now(errand->set)) co_await parts_.parent.decide(errand->set);
  co_await hand_in(std::move(errand));
}

void PoolStore::sweep() {
  for (RegionPools::Known& known : parts_.pools.due(parts_.clock.monotonic_ms()))
    spawn(look_at(std::move(known)));
}

void PoolStore::return_all() {
  for (RegionPools::Known& known : parts_.pools.take_all()) spawn(look_at(std::move(known)));
}

FleetBeat::Left PoolStore::when_left() {
  errands_.fetch_add(1);
  return [this](std::optional<std::size_t> stay) {
    if (stay == 0U) {
      parts_.pools.close();
      return_all();
    }
    errands_.fetch_sub(1);
  };
}

void PoolStore::watch() {
  if (!timer_.armed() && parts_.pools.watches()) timer_.arm();
}

void PoolStore::close() {
  timer_.close();
}

}  // namespace weir::store
