// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rate_limit_fields.hpp"

#include <gtest/gtest.h>

#include "pipeline/decided.hpp"

namespace weir::pipeline {
namespace {

using limit::AlgorithmKind;
using test::Decided;

constexpr std::int64_t kWall = 1'800'000'000'500;

std::string fields(const Decided& decided, const AnswerOptions& options) {
  std::string out;
  append_rate_limit_fields(out, decided.set, decided.conclude(), options, kWall);
  return out;
}

TEST(RateLimitFields, AllowedShowsTheTightestLayer) {
  Decided decided;
  decided.add("caller", test::terms(AlgorithmKind::token_bucket, 5000, 60000), test::passed(4000, 12000));
  decided.add("user", test::terms(AlgorithmKind::fixed_window, 100, 60000), test::passed(7, 30500));
  EXPECT_EQ(fields(decided, AnswerOptions()),
            "RateLimit-Policy: \"user\";q=100;w=60\r\n"
            "RateLimit: \"user\";r=7;t=31\r\n"
            "X-RateLimit-Limit: 100\r\nX-RateLimit-Remaining: 7\r\nX-RateLimit-Reset: 1800000031\r\n");
}

TEST(RateLimitFields, RefusedNamesEveryRefusingLayerAndTheLargestWait) {
  Decided decided;
  decided.add("node", test::terms(AlgorithmKind::sliding_window, 9000, 60000), test::passed(8000, 12000));
  decided.add("caller", test::terms(AlgorithmKind::token_bucket, 500, 60000), test::refused(1200, 60000));
  decided.add("api", test::terms(AlgorithmKind::fixed_window, 60, 60000), test::refused(42001, 42001));
  AnswerOptions options;
  options.legacy = LegacyReset::delta;
  EXPECT_EQ(fields(decided, options),
            "Retry-After: 43\r\n"
            "RateLimit-Policy: \"caller\";q=500;w=60, \"api\";q=60;w=60\r\n"
            "RateLimit: \"caller\";r=0;t=2, \"api\";r=0;t=43\r\n"
            "X-RateLimit-Limit: 500\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 60\r\n");
}

TEST(RateLimitFields, RetryAfterIsAtLeastOneSecond) {
  Decided decided;
  decided.add("user", test::terms(AlgorithmKind::gcra, 100, 1000), test::refused(10, 1000));
  EXPECT_EQ(retry_after_seconds(decided.conclude()), 1);
}

TEST(RateLimitFields, ACostThatNeverFitsHasNoRetryAfter) {
  Decided decided;
  decided.add("user", test::terms(AlgorithmKind::token_bucket, 10, 60000), test::refused(limit::kNever, 0));
  const std::string out = fields(decided, AnswerOptions());
  EXPECT_EQ(out.find("Retry-After"), std::string::npos);
  EXPECT_NE(out.find("RateLimit: \"user\";r=0\r\n"), std::string::npos);
}

TEST(RateLimitFields, ConcurrencyHasItsUnitAndNoWindow) {
  Decided decided;
  decided.add("user", test::terms(AlgorithmKind::concurrency, 3, 5000), test::refused(1000, 4000));
  EXPECT_NE(
      fields(decided, AnswerOptions()).find("RateLimit-Policy: \"user\";q=3;qu=\"concurrent-requests\"\r\n"),
      std::string::npos);
}

TEST(RateLimitFields, ALayerThatNobodyCountedInventsNoNumbers) {
  Decided decided;
  decided.add("user", test::terms(AlgorithmKind::token_bucket, 10, 60000), test::passed(0, 0)).answered =
      limit::Answered::failed_open;
  EXPECT_EQ(fields(decided, AnswerOptions()), "");
}

TEST(RateLimitFields, EachFamilyCanBeSwitchedOff) {
  Decided decided;
  decided.add("user", test::terms(AlgorithmKind::fixed_window, 10, 60000), test::refused(2000, 2000));
  AnswerOptions options;
  options.ietf = false;
  options.legacy = LegacyReset::off;
  EXPECT_EQ(fields(decided, options), "Retry-After: 2\r\n");
  options.retry_after = false;
  EXPECT_EQ(fields(decided, options), "");
}

}  // namespace
}  // namespace weir::pipeline
