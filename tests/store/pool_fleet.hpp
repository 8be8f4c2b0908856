// SPDX-License-Identifier: Apache-2.0
// Gateways of several regions over one parent, each a real Redis with the product's own scripts: their lease
// and pool stores. The parent's clock is the test's; each region's is another one, that goes along and can be
// set apart.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "store/lease_fleet.hpp"
#include "store/pool_store.hpp"
#include "support/redis_server.hpp"

namespace weir::redis {
extern const Script kStoredClockPool;
extern const Script kStoredClockParent;
}  // namespace weir::redis

namespace weir::store {

class PoolFleet {
 public:
  struct Size {
    std::size_t regions = 1;
    std::size_t gateways = 3;  // in each
    std::chrono::milliseconds ttl{2000};
    std::int64_t permits = 200;
    std::chrono::milliseconds parent_timeout{8};  // real time, which nearly no test waits for
  };

  explicit PoolFleet(const Size& size) : size_(size) {
    lease_.counting = Counting::leased;
    lease_.max_age = size.ttl;
    lease_.outstanding_permille = 200;
    lease_.requests = size.permits;
    lease_.ahead = std::chrono::milliseconds(200);
    for (std::size_t r = 0; r < size.regions; ++r) {
      regions_.push_back(std::make_unique<Region>());
      regions_[r]->ahead_ms = static_cast<std::int64_t>(r + 1) * 7'654'321;
    }
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    test::await(loop_, parent_connection_->wait_ready(patience));
    set_clocks();
    for (std::size_t g = 0; g < size.regions * size.gateways; ++g)
      gateways_.push_back(std::make_unique<Gateway>(*this, region_of(g)));
    settle_down();
  }
  ~PoolFleet() {
    for (const auto& gateway : gateways_) gateway->wire.hurry();
    for (const auto& gateway : lost_) gateway->wire.hurry();
    do run_for(std::chrono::milliseconds(1));
    while (open_ > 0);
    // They live until the loop has run what was under way (sweep_timer.hpp).
    for (const auto& gateway : gateways_) gateway->close();
    for (const auto& gateway : lost_) gateway->close();
    loop_.restart();
    loop_.poll();
    gateways_.clear();
    lost_.clear();
    parent_connection_->close();
    loop_.restart();
    loop_.poll();
  }

  std::size_t region_of(std::size_t gateway) const { return gateway / size_.gateways; }

  // True: allowed. Not answered (its parent is slow): false, and the answer comes with hurry().
  bool request(std::size_t gateway, const limit::Policy& policy, std::string_view key,
               std::int64_t cost = 1) {
    limit::ChargeSet set;
    add_layer(set, policy, key, cost);
    return request(gateway, set);
  }
  bool request(std::size_t gateway, limit::ChargeSet& set) {
    LeaseStore& store = gateways_[gateway]->leases;
    if (!store.decide_now(set)) test::await(loop_, store.decide(set));
    return limit::conclude(set).allowed();
  }
  // Does not wait for the answer. Whether it was allowed can be read from the set later.
  limit::ChargeSet& begin(std::size_t gateway, const limit::Policy& policy, std::string_view key) {
    limit::ChargeSet& set = begun_.emplace_back();
    add_layer(set, policy, key);
    set.charge[0].verdict.within_limit = false;
    LeaseStore& store = gateways_[gateway]->leases;
    if (!store.decide_now(set)) {
      ++open_;
      boost::asio::co_spawn(loop_, store.decide(set), [this](const std::exception_ptr&) { --open_; });
    }
    settle_down();
    return set;
  }

  void advance(std::int64_t ms) {
    clock_.advance(ms);
    set_clocks();
    for (const auto& gateway : gateways_) {
      gateway->leases.sweep();
      gateway->store.sweep();
    }
    settle_down();
  }
  // What is under way in the regions ends; what waits for a slow parent stays.
  void settle_down() {
    for (int round = 0; round < 6; ++round) {
      loop_.restart();
      loop_.poll();
      ping(*parent_connection_);
      for (const auto& gateway : gateways_) ping(*gateway->connection);
    }
  }
  // Real time: for who waits.
  void run_for(std::chrono::milliseconds time) {
    loop_.restart();
    loop_.run_for(time);
    settle_down();
  }
  void step_region_clock(std::size_t region, std::int64_t ms) {
    regions_[region]->ahead_ms += ms;
    set_clocks();
  }
  void flush(std::size_t region) {
    regions_[region]->client->call({"FLUSHALL"});
    set_clocks();
  }
  // The region's server starts anew, with what it had when `state` was read of the key's pool: a copy that
  // lagged behind.
  void restart_with(std::size_t region, std::string_view key, std::string_view state) {
    Region& one = *regions_[region];
    one.server.restart();
    one.client = std::make_unique<test::RespClient>(one.server.port());
    set_clocks();
    one.client->call({"SET", pool_key(key), state, "PX", "3600000"});
    for (const auto& gateway : gateways_) {
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      test::await(loop_, gateway->connection->wait_ready(patience));
    }
  }
  std::string pool_state(std::size_t region, std::string_view key) {
    return regions_[region]->client->text({"GET", pool_key(key)});
  }
  // A gateway dies: nothing that it waits for comes back to it. A new one takes its place.
  void kill(std::size_t gateway) {
    gateways_[gateway]->wire.slow = true;
    gateways_[gateway]->close();
    lost_.push_back(std::move(gateways_[gateway]));
    gateways_[gateway] = std::make_unique<Gateway>(*this, region_of(gateway));
    settle_down();
  }
  // All gateways leave, region by region.
  void drain() {
    for (const auto& gateway : gateways_) {
      gateway->wire.hurry();
      gateway->store.drain();
      gateway->leases.drain();
    }
    settle_down();
    for (const auto& gateway : gateways_) gateway->store.when_left()(0);
    settle_down();
  }

  // What the parent counts as used.
  std::int64_t used(const limit::Policy& policy, std::string_view key) {
    limit::ChargeSet set;
    add_layer(set, policy, key);
    test::await(loop_, parent_.peek(set));
    return limit::capacity_of(policy.terms) - set.charge[0].verdict.remaining;
  }
  int parent_calls() const {
    int sum = 0;
    for (const auto& gateway : gateways_) sum += gateway->wire.calls;
    for (const auto& gateway : lost_) sum += gateway->wire.calls;
    return sum;
  }
  CountingStore& wire(std::size_t gateway) { return gateways_[gateway]->wire; }
  PoolStore& store(std::size_t gateway) { return gateways_[gateway]->store; }
  RegionPools& pools(std::size_t gateway) { return gateways_[gateway]->pools; }
  test::RedisServer& redis(std::size_t region) { return regions_[region]->server; }
  test::RespClient& client(std::size_t region) { return *regions_[region]->client; }
  FakeClock& clock() { return clock_; }

 private:
  struct Region {
    test::RedisServer server;
    std::unique_ptr<test::RespClient> client = std::make_unique<test::RespClient>(server.port());
    std::int64_t ahead_ms = 0;
  };
  struct Gateway {
    Gateway(PoolFleet& fleet, std::size_t region)
        : connection(redis::Connection::start(fleet.loop_.get_executor(),
                                              options(fleet.regions_[region]->server.port()))),
          wire(fleet.parent_, fleet.loop_),
          pool(own_leases()),
          store({std::make_shared<redis::SingleCaller>(connection),
                 std::chrono::seconds(20),
                 fleet.size_.parent_timeout,
                 wire,
                 fleet.clock_,
                 fleet.lease_,
                 pools,
                 uses,
                 {},
                 redis::kStoredClockPool}),
          leases(fleet.loop_.get_executor(), pool, store, fleet.clock_) {
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      test::await(fleet.loop_, connection->wait_ready(patience));
    }
    void close() {
      leases.close();
      store.close();
      connection->close();
    }
    static redis::ConnectionOptions options(std::uint16_t port) {
      StoreOptions from;
      from.port = port;
      return connection_options(from);
    }
    static LeaseOptions own_leases() {
      LeaseOptions options;
      options.counting = Counting::automatic;
      return options;
    }

    std::shared_ptr<redis::Connection> connection;
    CountingStore wire;
    LeasePool pool;
    RegionPools pools;
    UseTable uses;
    PoolStore store;
    LeaseStore leases;
  };

  void set_clocks() {
    parent_client_.call({"SET", "test:now", std::to_string(clock_.monotonic_ms())});
    for (const auto& region : regions_)
      region->client->call({"SET", "test:now", std::to_string(clock_.monotonic_ms() + region->ahead_ms)});
  }
  void ping(redis::Connection& connection) {
    std::string request;
    redis::append_command(request, {"PING"});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    test::await(loop_, execute(connection, request, deadline));
  }
  static boost::asio::awaitable<void> execute(redis::Connection& connection, std::string& request,
                                              redis::TimePoint deadline) {
    co_await connection.execute(request, deadline, boost::asio::use_awaitable);
  }

  Size size_;
  LeaseOptions lease_;
  FakeClock clock_;
  boost::asio::io_context loop_;
  test::RedisServer parent_server_;
  test::RespClient parent_client_{parent_server_.port()};
  std::shared_ptr<redis::Connection> parent_connection_ =
      redis::Connection::start(loop_.get_executor(), Gateway::options(parent_server_.port()));
  RedisStore parent_{std::make_shared<redis::SingleCaller>(parent_connection_), std::chrono::seconds(20),
                     redis::kStoredClockParent};
  std::vector<std::unique_ptr<Region>> regions_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::vector<std::unique_ptr<Gateway>> lost_;
  std::deque<limit::ChargeSet> begun_;
  int open_ = 0;  // of them, those that are not answered yet
};

}  // namespace weir::store
