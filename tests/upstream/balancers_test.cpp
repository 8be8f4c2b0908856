// SPDX-License-Identifier: Apache-2.0
#include "upstream/balancers.hpp"

#include <gtest/gtest.h>

#include <map>

#include "upstream/endpoint.hpp"

namespace weir::upstream {
namespace {

class BalancerTest : public ::testing::Test {
 protected:
  BalancerTest() {
    for (std::uint16_t port = 1; port <= 3; ++port) {
      endpoints_.push_back(std::make_shared<Endpoint>(loop_, EndpointOptions{"127.0.0.1", port}));
    }
  }
  boost::asio::io_context io_{1};
  net::EventLoop loop_{io_, system_clock()};
  Endpoints endpoints_;
  Balancer balancer_;
};

TEST_F(BalancerTest, RoundRobinTakesTurns) {
  std::map<Endpoint*, int> picked;
  for (int n = 0; n < 30; ++n) ++picked[balancer_.pick(endpoints_, Balance::round_robin, nullptr).get()];
  for (const auto& endpoint : endpoints_) EXPECT_EQ(picked[endpoint.get()], 10);
}

TEST_F(BalancerTest, LeastRequestTakesTheLeastAndEqualsTakeTurns) {
  endpoints_[0]->stats().outstanding = 2;
  endpoints_[1]->stats().outstanding = 1;
  endpoints_[2]->stats().outstanding = 1;
  std::map<Endpoint*, int> picked;
  for (int n = 0; n < 30; ++n) ++picked[balancer_.pick(endpoints_, Balance::least_request, nullptr).get()];
  EXPECT_EQ(picked[endpoints_[0].get()], 0);
  EXPECT_GT(picked[endpoints_[1].get()], 5);
  EXPECT_GT(picked[endpoints_[2].get()], 5);
}

TEST_F(BalancerTest, TheOneToAvoidIsChosenOnlyAlone) {
  for (int n = 0; n < 10; ++n) {
    EXPECT_NE(balancer_.pick(endpoints_, Balance::round_robin, endpoints_[1].get()), endpoints_[1]);
    EXPECT_NE(balancer_.pick(endpoints_, Balance::least_request, endpoints_[1].get()), endpoints_[1]);
  }
  const Endpoints alone{endpoints_[1]};
  EXPECT_EQ(balancer_.pick(alone, Balance::least_request, endpoints_[1].get()), endpoints_[1]);
  EXPECT_EQ(balancer_.pick({}, Balance::least_request, nullptr), nullptr);
}

TEST_F(BalancerTest, EndpointsAreNamedAsAddresses) {
  EXPECT_EQ(endpoints_[0]->name(), "127.0.0.1:1");
  EXPECT_EQ(Endpoint(loop_, {"::1", 80}).name(), "[::1]:80");
}

}  // namespace
}  // namespace weir::upstream
