// SPDX-License-Identifier: Apache-2.0
#include "telemetry/ranking.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <random>

#include "telemetry/records.hpp"

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
  auto top = ranking(both, "caller", RankedBy::requests, 10);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].name, "acme");
  EXPECT_EQ(top[0].count, 2U);
  EXPECT_EQ(ranking(both, "caller", RankedBy::refusals, 10).size(), 1U);
  EXPECT_EQ(ranking(both, "caller", RankedBy::requests, 1).size(), 1U);
  EXPECT_TRUE(ranking(both, "nothing", RankedBy::requests, 10).empty());

  one.record(allowed.record, 2 * WorkerRanking::kMinuteMs);
  two.record(allowed.record, 2 * WorkerRanking::kMinuteMs);
  top = ranking(both, "caller", RankedBy::requests, 10);
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].count, 3U);
}

TEST(WorkerRanking, ASampleStandsForTheRestUnderLoad) {
  WorkerRanking worker;
  Chain chain;
  for (int n = 0; n < 100'000; ++n) {
    chain.record.caller = n % 4 == 0 ? "quarter" : "rest";
    worker.record(chain.record, 500);
  }
  const auto top = ranking({&worker}, "caller", RankedBy::requests, 10);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_NEAR(static_cast<double>(top[0].count), 75000, 5000);
  EXPECT_NEAR(static_cast<double>(top[1].count), 25000, 3000);
}

TEST(WorkerRanking, SpeaksJson) {
  WorkerRanking worker;
  Chain refused({0});
  refused.record.user = "evil\"\n";
  worker.record(refused.record, 0);
  const auto page = boost::json::parse(ranking_json({&worker}));
  EXPECT_EQ(page.at("user").at("refusals").at(0).at("name").as_string(), "evil\"\n");
  EXPECT_EQ(page.at("api").at("requests").at(0).at("count").as_int64(), 1);
  EXPECT_EQ(page.at("caller").at("refusals").as_array().size(), 1U);
}

}  // namespace
}  // namespace weir::telemetry
