// SPDX-License-Identifier: Apache-2.0
// Several gateways' lease stores over one memory store, on a clock that the test moves: the product's own
// code, without a network. Every call of the store is counted.
#pragma once

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "store/fake_clock.hpp"
#include "store/lease_store.hpp"
#include "store/memory_store.hpp"
#include "store/redis_world.hpp"

namespace weir::store {

// Passes on to another store, and never decides at once, as a network would not. While `deaf`, no answer
// comes back: the ladder above the real one then counts alone. While `slow`, answers wait for hurry().
class CountingStore final : public limit::CounterStore {
 public:
  CountingStore(limit::CounterStore& below, boost::asio::io_context& loop) : below_(below), gate_(loop) {
    gate_.expires_at(std::chrono::steady_clock::time_point::max());
  }
  bool decide_now(limit::ChargeSet&) override { return false; }
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override {
    ++calls;
    co_await below_.decide(set);
    error_code released;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, released);
    if (slow) co_await gate_.async_wait(token);
    if (!deaf) co_return;
    for (limit::Charge& charge : set.charges()) {
      charge.answered = limit::Answered::local;
      charge.charged = false;
      charge.verdict = {.within_limit = true, .limit = charge.policy->terms.limit};
      if (charge.lease != nullptr) charge.lease->granted = 0;
    }
  }
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override { return below_.peek(set); }
  void settle(const limit::ChargeSet& set, std::int64_t delta) override { below_.settle(set, delta); }
  void release(const limit::ChargeSet& set) override { below_.release(set); }
  void renew(const limit::ChargeSet& set) override { below_.renew(set); }

  void hurry() {
    slow = false;
    gate_.cancel();
  }

  int calls = 0;
  bool deaf = false;
  bool slow = false;

 private:
  limit::CounterStore& below_;
  boost::asio::steady_timer gate_;
};

class LeaseFleet {
 public:
  explicit LeaseFleet(std::size_t gateways, Counting counting = Counting::automatic,
                      std::int64_t debt_permille = 0) {
    LeaseOptions options;
    options.counting = counting;
    options.debt_permille = debt_permille;
    exact_ = counting == Counting::exact;
    fleet_->learn(gateways, 1, {}, {});
    for (std::size_t n = 0; n < gateways; ++n) {
      gateways_.push_back(std::make_unique<Gateway>(options, fleet_, memory_, clock_, loop_, lost_ms_));
    }
  }

  // One request of one layer; true: allowed.
  bool request(std::size_t gateway, const limit::Policy& policy, std::string_view key,
               std::int64_t cost = 1) {
    limit::ChargeSet set;
    add_layer(set, policy, key, cost);
    return request(gateway, set);
  }
  bool request(std::size_t gateway, limit::ChargeSet& set) {
    limit::CounterStore& store =
        exact_ ? static_cast<limit::CounterStore&>(memory_) : gateways_[gateway]->leases;
    if (!store.decide_now(set)) boost::asio::co_spawn(loop_, store.decide(set), boost::asio::detached);
    poll();
    return limit::conclude(set).allowed();
  }
  // Does not wait for an answer that is slow: the set must live until hurry().
  void begin(std::size_t gateway, limit::ChargeSet& set) {
    LeaseStore& store = gateways_[gateway]->leases;
    if (!store.decide_now(set)) boost::asio::co_spawn(loop_, store.decide(set), boost::asio::detached);
    poll();
  }
  // All asked before any is answered; how many were allowed.
  std::int64_t at_once(std::size_t gateway, const std::vector<std::unique_ptr<limit::ChargeSet>>& sets) {
    slow_down(gateway);
    for (const auto& set : sets) begin(gateway, *set);
    hurry(gateway);
    return std::ranges::count_if(sets, [](const auto& set) { return limit::conclude(*set).allowed(); });
  }
  void advance(std::int64_t ms) {
    clock_.advance(ms);
    for (const auto& gateway : gateways_) gateway->leases.sweep();
    poll();
  }
  // What the store counts as used.
  std::int64_t used(std::string_view key) {
    const auto standing = memory_.standing(key);
    return standing ? standing->used : 0;
  }
  // All permits that are held by gateways.
  std::int64_t held() {
    std::int64_t sum = 0;
    for (const auto& gateway : gateways_) sum += gateway->pool.held();
    return sum;
  }
  int calls() const {
    int sum = 0;
    for (const auto& gateway : gateways_) sum += gateway->wire.calls;
    return sum;
  }
  // The store forgets a counter, and every gateway has a new connection to it.
  void lose(std::string_view key) {
    memory_.forget(key);
    lost_ms_ = clock_.monotonic_ms();
  }
  void slow_down(std::size_t gateway) { gateways_[gateway]->wire.slow = true; }
  void hurry(std::size_t gateway) {
    gateways_[gateway]->wire.hurry();
    poll();
  }
  void deafen(std::size_t gateway, bool deaf) { gateways_[gateway]->wire.deaf = deaf; }
  LeaseStore& leases(std::size_t gateway) { return gateways_[gateway]->leases; }
  LeasePool& pool(std::size_t gateway) { return gateways_[gateway]->pool; }
  FakeClock& clock() { return clock_; }
  MemoryStore& memory() { return memory_; }
  void poll() {
    loop_.restart();
    loop_.poll();
  }

 private:
  struct Gateway {
    Gateway(const LeaseOptions& options, std::shared_ptr<FleetShare> fleet, MemoryStore& memory,
            const Clock& clock, boost::asio::io_context& loop, const std::int64_t& lost_ms)
        : wire(memory, loop),
          pool(options, std::move(fleet)),
          leases(loop.get_executor(), pool, wire, clock,
                 [&lost_ms](std::string_view, std::int64_t since_ms) { return since_ms <= lost_ms; }) {}
    ~Gateway() { leases.close(); }
    CountingStore wire;
    LeasePool pool;
    LeaseStore leases;
  };

  bool exact_ = false;
  std::int64_t lost_ms_ = 0;
  std::shared_ptr<FleetShare> fleet_ = std::make_shared<FleetShare>(1, 1);
  FakeClock clock_;
  boost::asio::io_context loop_;
  MemoryStore memory_{10'000, clock_};
  std::vector<std::unique_ptr<Gateway>> gateways_;
};

inline constexpr limit::AlgorithmKind kLeased[] = {
    limit::AlgorithmKind::fixed_window, limit::AlgorithmKind::sliding_window,
    limit::AlgorithmKind::sliding_counter, limit::AlgorithmKind::token_bucket, limit::AlgorithmKind::gcra};

struct Tally {
  std::int64_t offered = 0;
  std::int64_t allowed = 0;
  std::vector<std::int64_t> at_ms;  // of each that was allowed
};

// Random arrivals at `per_second` in all, spread over the gateways.
inline Tally drive(LeaseFleet& fleet, std::size_t gateways, const limit::Policy& policy, std::string_view key,
                   double per_second, std::int64_t for_ms, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> gap(per_second / 1000);
  std::uniform_int_distribution<std::size_t> any(0, gateways - 1);
  Tally tally;
  const std::int64_t begin = fleet.clock().monotonic_ms();
  double next = gap(random);
  for (std::int64_t ms = 0; ms < for_ms; ++ms) {
    for (; next < static_cast<double>(ms); next += gap(random)) {
      ++tally.offered;
      if (!fleet.request(any(random), policy, key)) continue;
      ++tally.allowed;
      tally.at_ms.push_back(begin + ms);
    }
    fleet.advance(1);
  }
  return tally;
}

}  // namespace weir::store
