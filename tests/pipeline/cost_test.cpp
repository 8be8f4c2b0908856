// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cost.hpp"

#include <gtest/gtest.h>

namespace weir::pipeline {
namespace {

http::RequestHead with_cost(std::string_view value) {
  http::RequestHead head;
  head.fields = {{"X-Cost", value}};
  return head;
}

TEST(Cost, ByApiElseOne) {
  CostOptions options;
  options.by_api["/export"] = 10;
  EXPECT_EQ(request_cost({}, "/export", false, options), 10);
  EXPECT_EQ(request_cost({}, "/other", false, options), 1);
}

TEST(Cost, AHeaderCountsOnlyFromATrustedPeer) {
  CostOptions options;
  options.request_header = "X-Cost";
  options.max_cost = 50;
  EXPECT_EQ(request_cost(with_cost("7"), "/", true, options), 7);
  EXPECT_EQ(request_cost(with_cost("7"), "/", false, options), 1);
  EXPECT_EQ(request_cost(with_cost("900"), "/", true, options), 50);
  for (const char* bad : {"0", "-3", "1.5", "abc", "", "99999999999999999999"}) {
    EXPECT_EQ(request_cost(with_cost(bad), "/", true, options), 1) << bad;
  }
}

TEST(Cost, SettledByResponseHeaderOrBytes) {
  CostOptions options;
  upstream::ForwardResult result;
  EXPECT_EQ(true_cost(result, 100, options), std::nullopt);
  options.settle_bytes_per_permit = 1000;
  EXPECT_EQ(true_cost(result, 100, options), std::nullopt) << "no response came";
  result.upstream_status = 200;
  EXPECT_EQ(true_cost(result, 0, options), 1);
  EXPECT_EQ(true_cost(result, 1001, options), 2);
  options.settle_response_header = "x-tokens";
  EXPECT_EQ(true_cost(result, 1001, options), std::nullopt) << "the header did not come";
  result.has_cost_header = true;
  result.cost_header = 42;
  EXPECT_EQ(true_cost(result, 1001, options), 42);
}

}  // namespace
}  // namespace weir::pipeline
