// SPDX-License-Identifier: Apache-2.0
// Several workers on one lease pool: what they pass and what they hold is never more than was charged.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
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
    begin(set);
    while (open > 0) run_for(1);  // it may wait for another worker's lease
    return limit::conclude(set).allowed();
  }
  void begin(limit::ChargeSet& set) {
    if (leases.decide_now(set)) return;
    ++open;
    boost::asio::co_spawn(loop, leases.decide(set), [this](const std::exception_ptr&) { --open; });
    poll();
  }
  void poll() {
    loop.restart();
    loop.poll();
  }

  void run_for(int ms) {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(ms));
  }

  boost::asio::io_context loop;
  CountingStore wire;
  LeaseStore leases;
  int open = 0;  // requests that are not answered yet
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

// The lease that took the last permits is on its way to another worker: the store refuses, but nobody is
// refused before it has come.
TEST(LeaseThreads, WhoIsRefusedForAnotherWorkersLeaseWaitsForIt) {
  constexpr std::int64_t kLimit = 100;
  constexpr int kTooMany = 7;
  FakeClock clock;
  MemoryStore memory(100, clock);
  LeasePool pool(LeaseOptions{});
  Worker one(pool, memory, clock);
  Worker other(pool, memory, clock);
  const limit::Policy policy = policy_of(AlgorithmKind::fixed_window, kLimit, 3'600'000);
  std::array<limit::ChargeSet, kLimit + kTooMany> sets;
  for (limit::ChargeSet& set : sets) add_layer(set, policy, "k");

  std::size_t asked = 0;
  const auto used = [&] { return static_cast<std::size_t>(memory.standing("k")->used); };
  one.wire.slow = true;
  do {
    one.begin(sets[asked++]);  // until one of them takes a lease along
    clock.advance(30);
  } while (used() == asked && asked < 50);
  ASSERT_GT(used(), asked);
  while (asked < sets.size()) other.begin(sets[asked++]);
  EXPECT_EQ(used(), kLimit);
  EXPECT_GT(other.open, kTooMany);

  one.wire.hurry();
  for (int n = 0; n < 1000 && one.open + other.open > 0; ++n) {
    one.run_for(1);
    other.run_for(1);
  }
  EXPECT_EQ(one.open + other.open, 0);
  EXPECT_EQ(std::ranges::count_if(sets, [](auto& set) { return limit::conclude(set).allowed(); }), kLimit);
  EXPECT_EQ(pool.held(), 0);
  EXPECT_EQ(other.request(sets[0]), false) << "and now it is known to be over";
}

// Ten users at their limit and a loud one over it, on two workers whose answers come in any order: all ask
// out of one bucket, which has room for what they may, and each gets all that it may.
void everybody_gets_what_it_may(AlgorithmKind algorithm, unsigned seed) {
  constexpr std::size_t kUsers = 10;
  constexpr std::int64_t kEach = 40;
  std::mt19937 random(seed);
  const auto chance = [&](unsigned one_in) { return random() % one_in == 0; };
  FakeClock clock;
  MemoryStore memory(1000, clock);
  LeasePool pool(LeaseOptions{});
  std::array<std::unique_ptr<Worker>, 2> workers;
  for (auto& worker : workers) worker = std::make_unique<Worker>(pool, memory, clock);
  const limit::Policy caller = policy_of(AlgorithmKind::token_bucket, 500, 2'678'400'000);
  const limit::Policy user = policy_of(algorithm, kEach, 2'678'400'000);
  std::vector<std::unique_ptr<limit::ChargeSet>> sets;
  for (std::size_t n = 0; n < kUsers * kEach * 2; ++n) {
    limit::ChargeSet& set = *sets.emplace_back(std::make_unique<limit::ChargeSet>());
    add_layer(set, caller, "caller");
    add_layer(set, user, n % 2 == 0 ? "user" + std::to_string(n / 2 % kUsers) : "loud");
  }
  for (auto& set : sets) {
    Worker& worker = *workers[random() % 2];
    worker.begin(*set);
    if (chance(2)) clock.advance(1);
    if (chance(40)) worker.wire.slow = true;
    if (!chance(30)) continue;
    Worker& answered = *workers[random() % 2];
    answered.wire.hurry();
    answered.run_for(1);
  }
  for (auto& worker : workers) worker->wire.hurry();
  for (int n = 0; n < 5000 && workers[0]->open + workers[1]->open > 0; ++n) {
    for (auto& worker : workers) worker->run_for(1);
  }
  ASSERT_EQ(workers[0]->open + workers[1]->open, 0);
  std::int64_t quiet = 0;
  std::int64_t loud = 0;
  for (std::size_t n = 0; n < sets.size(); ++n) {
    if (limit::conclude(*sets[n]).allowed()) ++(n % 2 == 0 ? quiet : loud);
  }
  EXPECT_EQ(quiet, static_cast<std::int64_t>(kUsers) * kEach)
      << limit::name_of(algorithm) << ", seed " << seed;
  EXPECT_EQ(loud, kEach) << limit::name_of(algorithm) << ", seed " << seed;
}

TEST(LeaseThreads, EverybodyGetsWhatItMayThoughAnswersCross) {
  for (const AlgorithmKind algorithm : kLeased) {
    for (unsigned seed = 1; seed <= 25; ++seed) everybody_gets_what_it_may(algorithm, seed);
  }
}

}  // namespace
}  // namespace weir::store
