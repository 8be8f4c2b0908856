// SPDX-License-Identifier: Apache-2.0
#include "telemetry/traffic_history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <thread>

#include "telemetry/metrics.hpp"

namespace weir::telemetry {
namespace {

boost::json::object parsed(const TrafficHistory& history, std::uint64_t since) {
  std::string out;
  history.append_json(out, since);
  return boost::json::parse(out).as_object();
}

std::vector<std::int64_t> point(const boost::json::object& all, std::size_t n) {
  std::vector<std::int64_t> out;
  for (const auto& value : all.at("points").as_array().at(n).as_array())
    out.push_back(value.to_number<std::int64_t>());
  return out;
}

void serve(Metrics& metrics, std::string_view outcome, int status, std::string_view layer, int times) {
  RequestRecord record;
  record.outcome = outcome;
  record.status = status;
  record.final_hit_layer = layer;
  for (int n = 0; n < times; ++n) metrics.worker(static_cast<std::size_t>(n) % 2).record(record);
}

class History : public testing::Test {
 protected:
  History() : metrics(2, "test") {
    ConfiguredNames names;
    names.layers = {"caller", "us\"er"};
    metrics.configure(names);
  }
  Metrics metrics;
  TrafficHistory history;
};

TEST_F(History, IsEmptyAtFirst) {
  EXPECT_EQ(parsed(history, 0), boost::json::parse("{\"layers\":[],\"points\":[]}").as_object());
}

TEST_F(History, SumsAllWorkersByOutcomeAndLayer) {
  serve(metrics, "allowed", 200, "", 5);
  serve(metrics, "allowed", 502, "", 2);
  serve(metrics, "over_limit", 429, "us\"er", 3);
  serve(metrics, "store_down", 503, "", 1);
  serve(metrics, "not_judged", 404, "", 7);
  history.sample(metrics, 1000);
  const auto all = parsed(history, 0);
  EXPECT_EQ(all.at("layers"), (boost::json::array{"caller", "us\"er"}));
  EXPECT_EQ(point(all, 0), (std::vector<std::int64_t>{1, 1000, 7, 4, 3, 0, 3}));
}

TEST_F(History, GivesWhatIsNewerAndAllToAReaderOfAnotherProcess) {
  for (int n = 1; n <= 4; ++n) history.sample(metrics, n * 1000);
  EXPECT_EQ(parsed(history, 2).at("points").as_array().size(), 2U);
  EXPECT_EQ(point(parsed(history, 2), 0)[0], 3);
  EXPECT_EQ(parsed(history, 4).at("points").as_array().size(), 0U);
  EXPECT_EQ(parsed(history, 99).at("points").as_array().size(), 4U);
}

TEST_F(History, KeepsFiveMinutesAndNoMore) {
  for (int n = 1; n <= 1000; ++n) history.sample(metrics, n * 1000);
  const auto all = parsed(history, 0);
  EXPECT_EQ(all.at("points").as_array().size(), TrafficHistory::kPoints);
  EXPECT_EQ(point(all, 0)[0], 701);
  EXPECT_EQ(point(all, TrafficHistory::kPoints - 1)[0], 1000);
}

TEST_F(History, IsReadWhileItIsWritten) {
  std::thread writer([this] {
    for (int n = 1; n <= 2000; ++n) history.sample(metrics, n * 1000);
  });
  std::size_t most = 0;
  for (int n = 0; n < 50; ++n) most = std::max(most, parsed(history, 0).at("points").as_array().size());
  writer.join();
  EXPECT_LE(most, TrafficHistory::kPoints);
  EXPECT_EQ(point(parsed(history, 1999), 0)[0], 2000);
}

TEST_F(History, LearnsOfLayersThatAReloadBrings) {
  history.sample(metrics, 1000);
  ConfiguredNames more;
  more.layers = {"role"};
  metrics.configure(more);
  history.sample(metrics, 2000);
  const auto all = parsed(history, 0);
  EXPECT_EQ(all.at("layers").as_array().size(), 3U);
  EXPECT_EQ(point(all, 0).size(), point(all, 1).size());
}

}  // namespace
}  // namespace weir::telemetry
