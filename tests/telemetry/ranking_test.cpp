// SPDX-License-Identifier: Apache-2.0
#include "telemetry/ranking.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <random>

#include "telemetry/records.hpp"
#include "telemetry/top_callers.hpp"

namespace weir::telemetry {
namespace {

using test::Chain;

TEST(HeavyNames, IsExactWhileThereIsRoom) {
  HeavyNames names;
  for (int n = 0; n < 500; ++n) {
    for (int times = 0; times <= n % 7; ++times) names.add("n" + std::to_string(n));
  }
  EXPECT_EQ(names.names().size(), 500U);
  EXPECT_EQ(names.names().at("n13").count, 7U);
  EXPECT_EQ(names.names().at("n13").error, 0U);
}

TEST(HeavyNames, FindsTheHeavyAmongMillions) {
  HeavyNames names;
  std::mt19937 random(9);
  std::map<std::string, std::uint64_t> truth;
  for (int n = 0; n < 400'000; ++n) {
    // Twenty heavy names share a third of the stream; the rest are seen about once each.
    const bool heavy = random() % 3 == 0;
    const std::string name =
        heavy ? "heavy-" + std::to_string(random() % 20) : "light-" + std::to_string(random());
    names.add(name);
    if (heavy) ++truth[name];
  }
  EXPECT_LE(names.names().size(), HeavyNames::kRoom);
  for (const auto& [name, count] : truth) {
    const auto found = names.names().find(name);
    ASSERT_NE(found, names.names().end()) << name;
    EXPECT_GE(found->second.count, count);
    EXPECT_LE(found->second.count - found->second.error, count);
  }
}

TEST(HeavyNames, LongNamesStayShortAndDistinct) {
  HeavyNames names;
  names.add(std::string(8000, 'x') + "a");
  names.add(std::string(8000, 'x') + "b");
  EXPECT_EQ(names.names().size(), 2U);
  for (const auto& [name, weight] : names.names()) EXPECT_LE(name.size(), HeavyNames::kNameBytes);
}

TEST(WorkerRanking, ShowsThisMinuteAndTheLast) {
  WorkerRanking one;
  WorkerRanking two;
  const std::vector<const WorkerRanking*> both{&one, &two};
  Chain refused({2});
  Chain allowed;
  allowed.record.caller = "quiet";
  one.record(refused.record, 0);
  two.record(refused.record, 0);
  two.record(allowed.record, WorkerRanking::kMinuteMs);
  auto top = ranking(both, "caller", RankedBy::requests, 10, WorkerRanking::kMinuteMs);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].name, "acme");
  EXPECT_EQ(top[0].count, 2U);
  EXPECT_EQ(ranking(both, "caller", RankedBy::refusals, 10, WorkerRanking::kMinuteMs).size(), 1U);
  EXPECT_EQ(ranking(both, "caller", RankedBy::requests, 1, WorkerRanking::kMinuteMs).size(), 1U);
  EXPECT_TRUE(ranking(both, "nothing", RankedBy::requests, 10, WorkerRanking::kMinuteMs).empty());

  one.record(allowed.record, 2 * WorkerRanking::kMinuteMs);
  two.record(allowed.record, 2 * WorkerRanking::kMinuteMs);
  top = ranking(both, "caller", RankedBy::requests, 10, 2 * WorkerRanking::kMinuteMs);
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].count, 3U);
  // Nobody sends any more: the ranking empties by itself.
  top = ranking(both, "caller", RankedBy::requests, 10, 3 * WorkerRanking::kMinuteMs);
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].count, 2U);
  EXPECT_TRUE(ranking(both, "caller", RankedBy::requests, 10, 4 * WorkerRanking::kMinuteMs).empty());
}

TEST(WorkerRanking, ASampleStandsForTheRestUnderLoad) {
  WorkerRanking worker;
  Chain chain;
  for (int n = 0; n < 100'000; ++n) {
    chain.record.caller = n % 4 == 0 ? "quarter" : "rest";
    worker.record(chain.record, 500);
  }
  const auto top = ranking({&worker}, "caller", RankedBy::requests, 10, 500);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_NEAR(static_cast<double>(top[0].count), 75000, 5000);
  EXPECT_NEAR(static_cast<double>(top[1].count), 25000, 3000);
}

TEST(WorkerRanking, SpeaksJson) {
  WorkerRanking worker;
  Chain refused({0});
  refused.record.user = "evil\"\n";
  worker.record(refused.record, 0);
  const auto page = boost::json::parse(ranking_json({&worker}, 0));
  EXPECT_EQ(page.at("user").at("refusals").at(0).at("name").as_string(), "evil\"\n");
  EXPECT_EQ(page.at("api").at("requests").at(0).at("count").as_int64(), 1);
  EXPECT_EQ(page.at("caller").at("refusals").as_array().size(), 1U);
}

TEST(WorkerRanking, SaysWhichLayerRefusedWhom) {
  WorkerRanking worker;
  Chain by_caller({1});
  Chain by_user({2});
  by_caller.record.caller = "evil\"\n<script>";
  worker.record(by_caller.record, 0);
  for (int n = 0; n < 3; ++n) worker.record(by_user.record, 0);
  const auto refused = boost::json::parse(ranking_json({&worker}, 0)).at("refused").as_array();
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(refused[0], boost::json::parse(R"({"layer":"user","name":"acme","count":3,"error":0})"));
  EXPECT_EQ(refused[1].at("layer").as_string(), "caller");
  EXPECT_EQ(refused[1].at("name").as_string(), "evil\"\n<script>");
}

TEST(TopCallers, NamesCallersByTheLayerThatRefused) {
  WorkerRanking worker;
  Chain over_caller({1});
  Chain over_user({2});
  Chain quiet({1});
  over_caller.record.caller = "loud";
  quiet.record.caller = "quiet";
  for (int n = 0; n < 30; ++n) worker.record(over_caller.record, 0);
  for (int n = 0; n < 40; ++n) worker.record(over_user.record, 0);
  for (int n = 0; n < 9; ++n) worker.record(quiet.record, 0);
  const auto families = top_caller_families({&worker}, 0);
  ASSERT_EQ(families.size(), 2U);
  EXPECT_EQ(families[0].name, "weir_top_caller_requests");
  ASSERT_EQ(families[0].samples.size(), 2U);
  EXPECT_EQ(families[0].samples[0].labels, (Labels{{"caller", "acme"}}));
  EXPECT_EQ(families[0].samples[0].value, 40);
  ASSERT_EQ(families[1].samples.size(), 2U);
  EXPECT_EQ(families[1].samples[0].labels, (Labels{{"layer", "caller"}, {"caller", "loud"}}));
  EXPECT_EQ(families[1].samples[0].value, 30);
  EXPECT_EQ(families[1].samples[1].labels, (Labels{{"layer", "user"}, {"caller", "acme"}}));
}

TEST(TopCallers, StayFewUnderAFloodOfNames) {
  WorkerRanking worker;
  Chain refused({1});
  for (int n = 0; n < 100'000; ++n) {
    const std::string name = n % 2 == 0 ? "c" + std::to_string(n % 100) : "made-up-" + std::to_string(n);
    refused.record.caller = name;
    worker.record(refused.record, n / 100);  // one in ten milliseconds: all are counted
  }
  for (const SampleFamily& family : top_caller_families({&worker}, 1000)) {
    EXPECT_EQ(family.samples.size(), kTopCallers);
    for (const Sample& sample : family.samples) EXPECT_EQ(sample.labels.back().second.front(), 'c');
  }
}

}  // namespace
}  // namespace weir::telemetry
