// SPDX-License-Identifier: Apache-2.0
// Several workers of one gateway on one region's pool: each with a connection and a loop of its own, over the
// process's leases and what it knows of the region.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "store/memory_store.hpp"
#include "store/pool_fleet.hpp"

namespace weir::store {
namespace {

constexpr std::string_view kKey = "w2:n:{c=c}:caller:fw:3600000";

struct Shared {
  explicit Shared(LeaseOptions region) : lease(region) {}

  LeaseOptions lease;
  test::RedisServer redis;
  MemoryStore parent{10'000, system_clock()};
  LeasePool leases{LeaseOptions{}};
  RegionPools pools;
};

struct Worker {
  explicit Worker(Shared& shared)
      : connection(redis::Connection::start(loop.get_executor(), options(shared.redis.port()))),
        wire(shared.parent, loop),
        store({std::make_shared<redis::SingleCaller>(connection),
               std::chrono::seconds(20),
               std::chrono::milliseconds(100),
               wire,
               system_clock(),
               shared.lease,
               shared.pools,
               uses,
               {}}),
        leases(loop.get_executor(), shared.leases, store, system_clock()) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    test::await(loop, connection->wait_ready(patience));
  }
  static redis::ConnectionOptions options(std::uint16_t port) {
    StoreOptions from;
    from.port = port;
    return connection_options(from);
  }
  bool request(const limit::Policy& policy) {
    limit::ChargeSet set;
    add_layer(set, policy, kKey);
    if (!leases.decide_now(set)) test::await(loop, leases.decide(set));
    return limit::conclude(set).allowed();
  }
  void settle_down() {
    test::run_until(loop, [this] { return store.idle(); });
  }
  void close() {
    leases.close();
    store.close();
    connection->close();
    loop.restart();
    loop.run();
  }

  boost::asio::io_context loop;
  std::shared_ptr<redis::Connection> connection;
  CountingStore wire;
  UseTable uses;
  PoolStore store;
  LeaseStore leases;
};

TEST(PoolThreads, AllWorkersTogetherPassWhatWasChargedAndGiveTheRestBack) {
  constexpr int kThreads = 3;
  constexpr int kRequests = 3000;
  constexpr std::int64_t kLimit = 6000;
  LeaseOptions region;
  region.counting = Counting::leased;
  region.max_age = std::chrono::seconds(30);
  region.requests = 300;
  region.ahead = std::chrono::milliseconds(100);
  Shared shared(region);
  limit::Policy policy = policy_of(limit::AlgorithmKind::fixed_window, kLimit, 31LL * 24 * 3'600'000);
  policy.scope = limit::Scope::global;
  std::vector<std::unique_ptr<Worker>> workers;
  for (int n = 0; n < kThreads; ++n) workers.push_back(std::make_unique<Worker>(shared));
  std::atomic<std::int64_t> allowed{0};
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    threads.emplace_back([&shared, &allowed, &policy, &worker = *worker] {
      for (int n = 0; n < kRequests; ++n) {
        if (worker.request(policy)) allowed.fetch_add(1);
        if (n % 100 == 0) worker.store.sweep();
        if (n % 500 == 0) EXPECT_GE(shared.pools.held(system_clock().monotonic_ms()), 0);
      }
      worker.settle_down();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(allowed.load(), kLimit);
  EXPECT_GT(allowed.load(), kLimit / 2);
  for (const auto& worker : workers) {
    worker->store.drain();
    worker->leases.drain();
    test::run_until(worker->loop, [&worker = *worker] { return worker.leases.idle(); });
  }
  workers.front()->store.when_left()(0);
  workers.front()->settle_down();
  const auto standing = shared.parent.standing(kKey);
  EXPECT_EQ(standing ? standing->used : 0, allowed.load());
  for (const auto& worker : workers) worker->close();
}

}  // namespace
}  // namespace weir::store
