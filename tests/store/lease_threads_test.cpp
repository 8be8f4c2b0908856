// SPDX-License-Identifier: Apache-2.0
// Several workers on one lease pool: what they pass and what they hold is never more than was charged.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "store/lease_fleet.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;

struct Worker {
  Worker(LeasePool& pool, MemoryStore& memory, const Clock& clock)
      : wire(memory, loop), leases(loop.get_executor(), pool, wire, clock) {}
  ~Worker() { leases.close(); }

  bool request(limit::ChargeSet& set) {
    if (!leases.decide_now(set)) boost::asio::co_spawn(loop, leases.decide(set), boost::asio::detached);
    poll();
    return limit::conclude(set).allowed();
  }
  void poll() {
    loop.restart();
    loop.poll();
  }

  boost::asio::io_context loop;
  CountingStore wire;
  LeaseStore leases;
};

TEST(LeaseThreads, AllWorkersTogetherPassWhatWasChargedAndNoMore) {
  constexpr int kThreads = 4;
  constexpr int kRequests = 20'000;
  constexpr std::int64_t kLimit = 30'000;
  FakeClock clock;
  MemoryStore memory(10'000, clock);
  LeaseOptions options;
  options.counting = Counting::automatic;
  options.max_keys = 64;  // so few that keys push one another out
  LeasePool pool(options);
  const limit::Policy whole = policy_of(AlgorithmKind::fixed_window, kLimit, 3'600'000);
  const limit::Policy part = policy_of(AlgorithmKind::token_bucket, 1'000'000, 3'600'000);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int n = 0; n < kThreads; ++n) workers.push_back(std::make_unique<Worker>(pool, memory, clock));
  std::atomic<std::int64_t> allowed{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < kRequests; ++i) {
        limit::ChargeSet set;
        add_layer(set, whole, "whole");
        add_layer(set, part, "part" + std::to_string(i % 100));
        if (workers[static_cast<std::size_t>(n)]->request(set)) allowed.fetch_add(1);
        if (i % 20 == 0) {
          clock.advance(1);
          workers[static_cast<std::size_t>(n)]->leases.sweep();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(allowed.load(), kLimit);
  EXPECT_GE(allowed.load(), kLimit * 9 / 10);
  const auto standing = memory.standing("whole");
  ASSERT_TRUE(standing);
  EXPECT_GE(standing->used, allowed.load());
  workers.front()->leases.drain();
  workers.front()->poll();
  EXPECT_EQ(pool.held(), 0);
}

}  // namespace
}  // namespace weir::store
