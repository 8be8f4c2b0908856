// SPDX-License-Identifier: Apache-2.0
#include "pipeline/refusal.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "pipeline/decided.hpp"

namespace weir::pipeline {
namespace {

using limit::AlgorithmKind;
using test::Decided;

TEST(Refusal, ProblemJsonNamesTheRefusingLayersInChainOrder) {
  Decided decided;
  decided.add("caller", test::terms(AlgorithmKind::token_bucket, 500, 60000), test::refused(1200, 60000));
  decided.add("user", test::terms(AlgorithmKind::token_bucket, 100, 60000), test::passed(3, 60000));
  decided.add("api", test::terms(AlgorithmKind::fixed_window, 60, 60000), test::refused(2500, 2500));
  std::string body;
  const auto type = append_refusal_body(body, decided.set, decided.conclude(), AnswerOptions(), "id-1");
  EXPECT_EQ(type, "application/problem+json");
  const auto problem = boost::json::parse(body).as_object();
  EXPECT_EQ(problem.at("status").as_int64(), 429);
  EXPECT_EQ(problem.at("instance").as_string(), "/requests/id-1");
  EXPECT_EQ(problem.at("retry-after").as_int64(), 3);
  EXPECT_EQ(boost::json::serialize(problem.at("violated-policies")), R"(["caller","api"])");
}

TEST(Refusal, ATemplateIsFilledAndEscaped) {
  Decided decided;
  decided.add("user", test::terms(AlgorithmKind::token_bucket, 100, 60000), test::refused(4000, 60000));
  AnswerOptions options;
  options.body_template =
      R"({"code":{status},"message":"{layer} limit {limit}","wait":{retry_after},"id":"{request_id}","by":{layers}})";
  std::string body;
  EXPECT_EQ(append_refusal_body(body, decided.set, decided.conclude(), options, "a\"b"), "application/json");
  EXPECT_EQ(body, R"({"code":429,"message":"user limit 100","wait":4,"id":"a\"b","by":["user"]})");
}

TEST(Refusal, StatusFollowsTheOutcome) {
  limit::Decision decision;
  const AnswerOptions options;
  decision.outcome = limit::Outcome::over_limit;
  EXPECT_EQ(refusal_status(decision, options), 429);
  decision.outcome = limit::Outcome::blocked;
  EXPECT_EQ(refusal_status(decision, options), 403);
  decision.outcome = limit::Outcome::cost_too_large;
  EXPECT_EQ(refusal_status(decision, options), 413);
  decision.outcome = limit::Outcome::store_down;
  EXPECT_EQ(refusal_status(decision, options), 503);
}

TEST(Refusal, ABlockedKeyIsNamedAndGetsNoRetryAfter) {
  Decided decided;
  limit::Decision decision;
  decision.outcome = limit::Outcome::blocked;
  decision.blocked_layer = "caller";
  std::string body;
  append_refusal_body(body, decided.set, decision, AnswerOptions(), "");
  const auto problem = boost::json::parse(body).as_object();
  EXPECT_EQ(boost::json::serialize(problem.at("violated-policies")), R"(["caller"])");
  EXPECT_FALSE(problem.contains("retry-after"));
}

}  // namespace
}  // namespace weir::pipeline
