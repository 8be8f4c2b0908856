// SPDX-License-Identifier: Apache-2.0
// The state machine of an endpoint's health, the retry budget, and the queue for connections, under a clock
// that the tests move.
#include <gtest/gtest.h>

#include "net/event_loop.hpp"
#include "upstream/endpoint_health.hpp"
#include "upstream/retry_budget.hpp"
#include "upstream/shared_cluster.hpp"

namespace weir::upstream {
namespace {

using Leave = EndpointHealth::Leave;
using Queued = SharedCluster::Queued;
using namespace std::chrono_literals;

class HandClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const noexcept override { return now; }
  std::int64_t wall_ms() const noexcept override { return now; }
  std::int64_t now = 1'000'000;
};

TEST(EndpointHealth, ChecksHaveThresholdsBothWays) {
  EndpointHealth health;
  HealthOptions options;
  options.healthy = 2;
  options.unhealthy = 3;
  EXPECT_FALSE(health.check_failed(options, 1));
  EXPECT_FALSE(health.check_failed(options, 2));
  EXPECT_FALSE(health.check_passed(options, 3));  // in a row, that is
  EXPECT_FALSE(health.check_failed(options, 4));
  EXPECT_FALSE(health.check_failed(options, 5));
  EXPECT_TRUE(health.check_failed(options, 6));
  EXPECT_EQ(health.out_until_ms(), EndpointHealth::kForever);
  EXPECT_FALSE(health.check_passed(options, 7));
  EXPECT_FALSE(health.check_failed(options, 8));
  EXPECT_FALSE(health.check_passed(options, 9));
  EXPECT_TRUE(health.check_passed(options, 10));
  EXPECT_EQ(health.out_until_ms(), 0);
  EXPECT_EQ(health.back_since_ms(), 10);
}

TEST(EndpointHealth, EjectionsGrowAndAreForgotten) {
  EndpointHealth health;
  EjectionOptions options;
  options.failures = 3;
  options.time = 10s;
  options.max_time = 25s;
  EXPECT_FALSE(health.request_failed(options, Leave::granted, 0));
  EXPECT_FALSE(health.request_failed(options, Leave::granted, 0));
  health.request_succeeded();
  EXPECT_FALSE(health.request_failed(options, Leave::granted, 0));
  EXPECT_FALSE(health.request_failed(options, Leave::granted, 0));
  EXPECT_TRUE(health.request_failed(options, Leave::granted, 1000));
  EXPECT_EQ(health.out_until_ms(), 11000);
  EXPECT_FALSE(health.tick(10999));
  EXPECT_TRUE(health.tick(11000));
  EXPECT_TRUE(health.request_failed(options, Leave::granted, 12000));  // one more is enough
  EXPECT_EQ(health.out_until_ms(), 32000);
  EXPECT_TRUE(health.tick(40000));
  EXPECT_EQ(health.back_since_ms(), 32000);  // since its time was over, not since somebody looked
  EXPECT_TRUE(health.request_failed(options, Leave::granted, 40000));
  EXPECT_EQ(health.out_until_ms(), 65000);  // at most max_time
  EXPECT_TRUE(health.tick(65000));
  EXPECT_TRUE(health.request_failed(options, Leave::granted, 90000));  // served as long as it was out
  EXPECT_EQ(health.out_until_ms(), 100000);
}

TEST(EndpointHealth, WhatMayNotLeaveStays) {
  EndpointHealth health;
  EjectionOptions options;
  options.failures = 1;
  EXPECT_FALSE(health.request_failed(options, Leave::refused, 0));
  EXPECT_EQ(health.out_until_ms(), 0);
  EXPECT_TRUE(health.request_failed(options, Leave::granted, 1));
  EjectionOptions off;
  off.failures = 0;
  EndpointHealth other;
  for (int n = 0; n < 100; ++n) EXPECT_FALSE(other.request_failed(off, Leave::granted, n));
}

TEST(RetryBudget, IsAShareOfTheLastTenSeconds) {
  RetryBudget budget;
  std::int64_t now = 5'000'000;
  for (int n = 0; n < 100; ++n) budget.request(now);
  int spent = 0;
  while (budget.spend(20, now)) ++spent;
  EXPECT_EQ(spent, 20);
  now += 9000;
  EXPECT_FALSE(budget.spend(20, now));
  for (int n = 0; n < 50; ++n) budget.request(now);
  EXPECT_TRUE(budget.spend(20, now));
  now += 1500;  // the first hundred and their retries are no longer counted
  for (spent = 1; budget.spend(20, now);) ++spent;
  EXPECT_EQ(spent, 10);
  now += 60000;
  for (spent = 0; budget.spend(20, now);) ++spent;
  EXPECT_EQ(spent, RetryBudget::kAtLeast);
  EXPECT_FALSE(RetryBudget().spend(0, now));
}

class SharedClusterTest : public ::testing::Test {
 protected:
  SharedClusterTest() {
    options_.name = "default";
    for (std::uint16_t port = 1; port <= 4; ++port) options_.endpoints.push_back({"127.0.0.1", port});
    options_.ejection.failures = 2;
  }
  // Fails so often that it would be ejected.
  static void ruin(SharedCluster& cluster, SharedEndpoint& endpoint) {
    cluster.request_failed(endpoint);
    cluster.request_failed(endpoint);
  }
  std::shared_ptr<QueueTicket> ticket() {
    waiters_.push_back(std::make_unique<net::Waiter>(loop_.wheel()));
    return std::make_shared<QueueTicket>(io_, *waiters_.back());
  }

  HandClock clock_;
  boost::asio::io_context io_{1};
  net::EventLoop loop_{io_, clock_};
  ClusterOptions options_;
  std::vector<std::unique_ptr<net::Waiter>> waiters_;
};

TEST_F(SharedClusterTest, NoMoreThanTheirShareIsEjected) {
  SharedCluster cluster(clock_, options_);
  const auto endpoints = cluster.endpoints();
  for (const auto& one : endpoints) ruin(cluster, *one);
  int out = 0;
  for (const auto& one : endpoints) out += one->in_service(clock_.now) ? 0 : 1;
  EXPECT_EQ(out, 2);
  clock_.now += 10'000;
  cluster.tick();
  for (const auto& one : endpoints) EXPECT_TRUE(one->in_service(clock_.now));
  EXPECT_EQ(endpoints[0]->ejections, 1U);
}

TEST_F(SharedClusterTest, OneOfTwoMayAlwaysBeEjectedAndTheOnlyOneNever) {
  options_.ejection.max_percent = 10;
  options_.endpoints.resize(2);
  SharedCluster two(clock_, options_);
  ruin(two, *two.endpoints()[1]);
  EXPECT_FALSE(two.endpoints()[1]->in_service(clock_.now));
  options_.endpoints.resize(1);
  SharedCluster one(clock_, options_);
  ruin(one, *one.endpoints()[0]);
  EXPECT_TRUE(one.endpoints()[0]->in_service(clock_.now));
}

TEST_F(SharedClusterTest, AnEndpointKeepsItsHealthOverAReload) {
  SharedCluster cluster(clock_, options_);
  const auto first = cluster.endpoints()[0];
  ruin(cluster, *first);
  options_.endpoints.erase(options_.endpoints.begin() + 1);
  cluster.update(options_);
  EXPECT_EQ(cluster.endpoints()[0], first);
  EXPECT_FALSE(first->in_service(clock_.now));
  EXPECT_EQ(cluster.endpoint({"127.0.0.1", 1}), first);
}

TEST_F(SharedClusterTest, PlacesAreHandedOnInOrder) {
  options_.endpoints.resize(1);
  options_.cap.max_connections = 2;
  options_.cap.queue_size = 2;
  SharedCluster cluster(clock_, options_);
  const auto endpoint = cluster.endpoints()[0];
  EXPECT_TRUE(cluster.try_acquire(*endpoint));
  EXPECT_TRUE(cluster.try_acquire(*endpoint));
  EXPECT_FALSE(cluster.try_acquire(*endpoint));
  const auto first = ticket();
  const auto second = ticket();
  EXPECT_EQ(cluster.enqueue(first), Queued::waits);
  EXPECT_EQ(cluster.enqueue(second), Queued::waits);
  EXPECT_EQ(cluster.enqueue(ticket()), Queued::full);
  EXPECT_EQ(cluster.queue_full, 1U);
  EXPECT_EQ(cluster.waiting(), 2U);
  cluster.release(endpoint);
  EXPECT_EQ(first->granted, endpoint);
  EXPECT_EQ(second->granted, nullptr);
  EXPECT_EQ(endpoint->in_use, 2U);
  // Who gives up what it was granted passes it on.
  const auto given = cluster.leave(first);
  cluster.release(given);
  EXPECT_EQ(second->granted, endpoint);
  EXPECT_EQ(cluster.leave(second), endpoint);
  cluster.release(endpoint);
  cluster.release(endpoint);
  EXPECT_EQ(endpoint->in_use, 0U);
  EXPECT_EQ(cluster.enqueue(ticket()), Queued::granted);
}

TEST_F(SharedClusterTest, NobodyOvertakesTheQueueAndLeaversAreForgotten) {
  options_.endpoints.resize(1);
  options_.cap.max_connections = 1;
  SharedCluster cluster(clock_, options_);
  const auto endpoint = cluster.endpoints()[0];
  EXPECT_TRUE(cluster.try_acquire(*endpoint));
  const auto gone = ticket();
  const auto stays = ticket();
  EXPECT_EQ(cluster.enqueue(gone), Queued::waits);
  EXPECT_EQ(cluster.enqueue(stays), Queued::waits);
  EXPECT_EQ(cluster.leave(gone), nullptr);
  cluster.release(endpoint);
  EXPECT_EQ(stays->granted, endpoint);
  EXPECT_FALSE(cluster.try_acquire(*endpoint));
}

TEST_F(SharedClusterTest, AHigherCapServesThoseWhoWait) {
  options_.endpoints.resize(1);
  options_.cap.max_connections = 1;
  SharedCluster cluster(clock_, options_);
  EXPECT_TRUE(cluster.try_acquire(*cluster.endpoints()[0]));
  const auto waits = ticket();
  EXPECT_EQ(cluster.enqueue(waits), Queued::waits);
  options_.cap.max_connections = 2;
  cluster.update(options_);
  EXPECT_EQ(waits->granted, cluster.endpoints()[0]);
}

}  // namespace
}  // namespace weir::upstream
