// SPDX-License-Identifier: Apache-2.0
#include "upstream/balancers.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/hash.hpp"
#include "upstream/endpoint.hpp"

namespace weir::upstream {
namespace {

class BalancerTest : public ::testing::Test {
 protected:
  BalancerTest() {
    for (std::uint16_t port = 1; port <= 3; ++port) endpoints_.push_back(endpoint(port, 1));
  }
  std::shared_ptr<Endpoint> endpoint(std::uint16_t port, int weight) {
    const EndpointOptions options{"127.0.0.1", port, weight};
    return std::make_shared<Endpoint>(loop_, options,
                                      std::make_shared<SharedEndpoint>(endpoint_name(options)));
  }
  std::map<Endpoint*, int> picks(const Choice& choice, int count) {
    std::map<Endpoint*, int> picked;
    for (int n = 0; n < count; ++n) ++picked[balancer_.pick(endpoints_, choice, {}).get()];
    return picked;
  }
  // Where each of `count` keys goes.
  std::vector<std::string> homes(const Endpoints& endpoints, int count) {
    std::vector<std::string> names;
    for (int key = 0; key < count; ++key) {
      Choice choice = by(Balance::hash);
      choice.key = stable_hash(std::to_string(key));
      names.push_back(balancer_.pick(endpoints, choice, {})->name());
    }
    return names;
  }
  static Choice by(Balance balance) {
    Choice choice;
    choice.balance = balance;
    choice.now_ms = kNow;
    return choice;
  }

  static constexpr std::int64_t kNow = 1'000'000;
  boost::asio::io_context io_{1};
  net::EventLoop loop_{io_, system_clock()};
  Endpoints endpoints_;
  Balancer balancer_;
};

TEST_F(BalancerTest, RoundRobinTakesTurns) {
  auto picked = picks(by(Balance::round_robin), 30);
  for (const auto& endpoint : endpoints_) EXPECT_EQ(picked[endpoint.get()], 10);
}

TEST_F(BalancerTest, WeightsShareOutSmoothly) {
  endpoints_ = {endpoint(1, 5), endpoint(2, 1), endpoint(3, 1)};
  std::string order;
  for (int n = 0; n < 14; ++n) {
    order += balancer_.pick(endpoints_, by(Balance::round_robin), {})->name().back();
  }
  EXPECT_EQ(order, "11213111121311");  // nginx' example: never five in a row, then the others
  auto picked = picks(by(Balance::least_request), 700);
  EXPECT_EQ(picked[endpoints_[0].get()], 500);
}

TEST_F(BalancerTest, WeightedLeastRequestGoesByLoadToo) {
  endpoints_ = {endpoint(1, 2), endpoint(2, 1)};
  endpoints_[0]->stats().outstanding = 9;
  auto picked = picks(by(Balance::least_request), 600);  // 2/10 against 1/1
  EXPECT_NEAR(picked[endpoints_[0].get()], 100, 2);
}

TEST_F(BalancerTest, LeastRequestTakesTheLeastAndEqualsTakeTurns) {
  endpoints_[0]->stats().outstanding = 2;
  endpoints_[1]->stats().outstanding = 1;
  endpoints_[2]->stats().outstanding = 1;
  auto picked = picks(by(Balance::least_request), 30);
  EXPECT_EQ(picked[endpoints_[0].get()], 0);
  EXPECT_GT(picked[endpoints_[1].get()], 5);
  EXPECT_GT(picked[endpoints_[2].get()], 5);
}

TEST_F(BalancerTest, TheOnesToAvoidAreChosenOnlyAlone) {
  const std::vector<const Endpoint*> avoid{endpoints_[1].get()};
  for (const Balance balance : {Balance::round_robin, Balance::least_request, Balance::hash}) {
    for (int n = 0; n < 10; ++n) {
      Choice choice = by(balance);
      choice.key = stable_hash(std::to_string(n));
      EXPECT_NE(balancer_.pick(endpoints_, choice, avoid), endpoints_[1]);
    }
  }
  const Endpoints alone{endpoints_[1]};
  EXPECT_EQ(balancer_.pick(alone, by(Balance::least_request), avoid), endpoints_[1]);
  EXPECT_EQ(balancer_.pick({}, by(Balance::least_request), {}), nullptr);
}

TEST_F(BalancerTest, WhoIsOutOfServiceIsLeftOutUntilAllAre) {
  endpoints_[0]->shared()->out_until_ms = kNow + 1;
  EXPECT_EQ(picks(by(Balance::round_robin), 30)[endpoints_[0].get()], 0);
  endpoints_[1]->shared()->out_until_ms = EndpointHealth::kForever;
  EXPECT_EQ(picks(by(Balance::round_robin), 30)[endpoints_[2].get()], 30);
  endpoints_[2]->shared()->out_until_ms = kNow + 1;
  auto panic = picks(by(Balance::round_robin), 30);
  for (const auto& endpoint : endpoints_) EXPECT_EQ(panic[endpoint.get()], 10);
}

TEST_F(BalancerTest, WhoCameBackStartsSlowly) {
  Choice choice = by(Balance::round_robin);
  choice.slow_start_ms = 10'000;
  endpoints_[0]->shared()->back_since_ms = kNow;
  EXPECT_NEAR(picks(choice, 2100)[endpoints_[0].get()], 100, 10);  // a tenth of the others' share
  choice.now_ms = kNow + 5'000;
  EXPECT_NEAR(picks(choice, 2500)[endpoints_[0].get()], 500, 10);
  choice.now_ms = kNow + 10'000;
  EXPECT_NEAR(picks(choice, 3000)[endpoints_[0].get()], 1000, 10);
}

TEST_F(BalancerTest, AChangeOfEndpointsMovesOnlyTheirKeys) {
  constexpr int kKeys = 3000;
  endpoints_.clear();
  for (std::uint16_t port = 1; port <= 8; ++port) endpoints_.push_back(endpoint(port, port == 8 ? 3 : 1));
  const auto before = homes(endpoints_, kKeys);
  EXPECT_EQ(homes(endpoints_, kKeys), before);
  for (std::size_t gone = 0; gone < endpoints_.size(); ++gone) {
    Endpoints fewer = endpoints_;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(gone));
    const auto after = homes(fewer, kKeys);
    for (std::size_t key = 0; key < before.size(); ++key) {
      if (before[key] != endpoints_[gone]->name()) EXPECT_EQ(after[key], before[key]);
    }
  }
  std::map<std::string, int> spread;
  for (const std::string& name : before) ++spread[name];
  EXPECT_NEAR(spread[endpoints_[0]->name()], kKeys / 10, kKeys / 25);
  EXPECT_NEAR(spread[endpoints_[7]->name()], kKeys * 3 / 10, kKeys / 25);
}

TEST_F(BalancerTest, OneKeyDoesNotOverloadItsEndpoint) {
  Choice choice = by(Balance::hash);
  choice.key = 42;
  for (int n = 0; n < 300; ++n) ++balancer_.pick(endpoints_, choice, {})->stats().outstanding;
  for (const auto& endpoint : endpoints_) {
    EXPECT_LE(endpoint->stats().outstanding.load(), 300 / 3 * 125 / 100 + 1) << endpoint->name();
  }
}

TEST_F(BalancerTest, EndpointsAreNamedAsAddresses) {
  EXPECT_EQ(endpoint_name({"127.0.0.1", 1}), "127.0.0.1:1");
  EXPECT_EQ(endpoint_name({"::1", 80}), "[::1]:80");
  EXPECT_EQ(endpoint_name({"unix:/run/a.sock", 0}), "unix:/run/a.sock");
}

}  // namespace
}  // namespace weir::upstream
