// SPDX-License-Identifier: Apache-2.0
#include "telemetry/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <set>
#include <thread>

#include "telemetry/exposition.hpp"
#include "telemetry/families.hpp"
#include "telemetry/records.hpp"

namespace weir::telemetry {
namespace {

using test::Chain;
using test::lines;
using testing::HasSubstr;

ConfiguredNames names() {
  return {{"node", "caller", "user", "api"},
          {"acme", "big"},
          {"POST /order/{id}/pay", "/login"},
          {"caller", "user"},
          {{"default", "127.0.0.1:9000"}}};
}

// The exposition format, checked line by line as promtool does: each family has HELP and TYPE before its
// samples and stands in one block, no series comes twice, histogram buckets rise and end in +Inf, equal to
// _count.
class Page {
 public:
  explicit Page(const std::string& text) {
    EXPECT_TRUE(text.ends_with('\n'));
    for (const std::string& line : lines(text)) read(line);
    end_histogram();
  }
  double value(const std::string& series) const {
    const auto found = values_.find(series);
    return found == values_.end() ? -1 : found->second;
  }
  std::size_t size() const { return values_.size(); }

 private:
  void read(const std::string& line) {
    static const std::regex help("# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\\\\]+");
    static const std::regex type("# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)");
    static const std::regex sample(
        R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\["\\n])*"(,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\["\\n])*")*\})? (-?[0-9.]+(e[+-]?[0-9]+)?|\+Inf|NaN))re");
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      end_histogram();
      family_ = match[1];
      EXPECT_TRUE(families_.insert(family_).second) << "family comes twice: " << family_;
      type_.clear();
    } else if (std::regex_match(line, match, type)) {
      EXPECT_EQ(match[1], family_) << line;
      type_ = match[2];
      if (type_ == "counter") EXPECT_TRUE(family_.ends_with("_total")) << family_;
    } else if (std::regex_match(line, match, sample)) {
      read_sample(line, match[1], match[2], match[6]);
    } else {
      ADD_FAILURE() << "not in the format: " << line;
    }
  }

  void read_sample(const std::string& line, const std::string& name, const std::string& labels,
                   const std::string& number) {
    EXPECT_TRUE(family_.starts_with("weir_")) << line;
    const std::string suffix = name.substr(std::min(family_.size(), name.size()));
    EXPECT_TRUE(name.starts_with(family_)) << line;
    const double value = std::stod(number);
    EXPECT_TRUE(values_.emplace(name + labels, value).second) << "series comes twice: " << line;
    if (type_ != "histogram") {
      EXPECT_EQ(suffix, "") << line;
      return;
    }
    EXPECT_TRUE(suffix == "_bucket" || suffix == "_sum" || suffix == "_count") << line;
    if (suffix == "_count") {
      end_histogram();
      count_ = value;
    }
    if (suffix != "_bucket") return;
    EXPECT_GE(value, bucket_) << line;
    bucket_ = value;
    if (labels.find("le=\"+Inf\"") == std::string::npos) return;
    EXPECT_EQ(value, count_) << line;
    infinite_ = true;
  }

  void end_histogram() {
    if (type_ == "histogram" && count_ >= 0) EXPECT_TRUE(infinite_) << family_ << " has no +Inf bucket";
    bucket_ = 0;
    count_ = -1;
    infinite_ = false;
  }

  std::string family_;
  std::string type_;
  std::set<std::string> families_;
  std::map<std::string, double> values_;
  double bucket_ = 0;
  double count_ = -1;
  bool infinite_ = false;
};

TEST(Metrics, AnIdleGatewayHasAReadablePage) {
  Metrics metrics(2, "1.2.3");
  metrics.configure(names());
  const Page page(metrics.exposition());
  EXPECT_EQ(page.value("weir_build_info{version=\"1.2.3\"}"), 1);
  EXPECT_EQ(page.value("weir_layer_decisions_total{layer=\"node\",outcome=\"denied\"}"), 0);
  EXPECT_EQ(page.value("weir_worker_busy_seconds_total{worker=\"1\"}"), 0);
}

TEST(Metrics, CountsWhatHappenedOverAllWorkers) {
  Metrics metrics(2, "1");
  metrics.configure(names());
  Chain allowed;
  allowed.layers[1].warned = true;
  allowed.layers[2].shadow_refused = true;
  allowed.layers[3].just_switched = true;
  allowed.layers[3].answered = 1;
  allowed.record.upstream = "default";
  allowed.record.endpoint = "127.0.0.1:9000";
  allowed.record.upstream_status = 200;
  allowed.record.upstream_us = 3000;
  metrics.worker(0).record(allowed.record);
  metrics.worker(1).record(allowed.record);
  const Chain refused({2, 3});
  metrics.worker(1).record(refused.record);
  Chain failed;
  failed.record.upstream = "default";
  failed.record.endpoint = "127.0.0.1:9000";
  failed.record.upstream_error = "connect_timeout";
  failed.record.status = 504;
  metrics.worker(0).record(failed.record);
  metrics.worker(0).malformed(431);
  metrics.worker(0).identity_missing("user", "ip");
  metrics.worker(0).authentication_failed("expired");
  metrics.worker(1).authentication_failed("expired");
  metrics.worker(1).authentication_failed("a new name");
  metrics.worker(1).held(1);
  metrics.worker(1).busy(2'500'000);
  metrics.reload_accepted(7, 1000);
  metrics.reload_rejected();

  const Page page(metrics.exposition());
  EXPECT_EQ(page.value("weir_requests_total{outcome=\"allowed\"}"), 3);
  EXPECT_EQ(page.value("weir_requests_total{outcome=\"over_limit\"}"), 1);
  EXPECT_EQ(page.value("weir_responses_total{class=\"2xx\"}"), 2);
  EXPECT_EQ(page.value("weir_responses_total{class=\"5xx\"}"), 1);
  EXPECT_EQ(page.value("weir_layer_decisions_total{layer=\"node\",outcome=\"allowed\"}"), 4);
  EXPECT_EQ(page.value("weir_layer_decisions_total{layer=\"caller\",outcome=\"warned\"}"), 2);
  EXPECT_EQ(page.value("weir_layer_decisions_total{layer=\"user\",outcome=\"shadow_denied\"}"), 2);
  EXPECT_EQ(page.value("weir_layer_decisions_total{layer=\"user\",outcome=\"denied\"}"), 1);
  EXPECT_EQ(page.value("weir_layer_answers_total{layer=\"api\",answered=\"local\"}"), 2);
  // The first layer that refuses is the hit, and the only one.
  EXPECT_EQ(page.value("weir_denials_total{layer=\"user\"}"), 1);
  EXPECT_EQ(page.value("weir_denials_total{layer=\"api\"}"), 0);
  EXPECT_EQ(page.value("weir_window_switch_requests_total{layer=\"api\"}"), 2);
  EXPECT_EQ(page.value("weir_layer_fill_ratio_bucket{layer=\"user\",le=\"0.5\"}"), 3);
  EXPECT_EQ(page.value("weir_layer_fill_ratio_count{layer=\"user\"}"), 4);
  EXPECT_EQ(page.value("weir_caller_requests_total{caller=\"acme\",outcome=\"denied\"}"), 1);
  EXPECT_EQ(page.value("weir_caller_requests_total{caller=\"big\",outcome=\"denied\"}"), -1);
  EXPECT_EQ(page.value("weir_api_requests_total{api=\"POST /order/{id}/pay\",outcome=\"allowed\"}"), 3);
  EXPECT_EQ(
      page.value(
          "weir_upstream_requests_total{cluster=\"default\",endpoint=\"127.0.0.1:9000\",outcome=\"2xx\"}"),
      2);
  EXPECT_EQ(page.value("weir_upstream_requests_total{cluster=\"default\",endpoint=\"127.0.0.1:9000\","
                       "outcome=\"connect_timeout\"}"),
            1);
  EXPECT_EQ(page.value("weir_malformed_requests_total{class=\"4xx\"}"), 1);
  EXPECT_EQ(page.value("weir_identity_missing_total{dimension=\"user\",policy=\"ip\"}"), 1);
  EXPECT_EQ(page.value("weir_auth_failures_total{reason=\"expired\"}"), 2);
  EXPECT_EQ(page.value("weir_auth_failures_total{reason=\"missing\"}"), 0);
  EXPECT_EQ(page.value("weir_auth_failures_total{reason=\"other\"}"), 1);
  EXPECT_EQ(page.value("weir_requests_held"), 1);
  EXPECT_DOUBLE_EQ(page.value("weir_worker_busy_seconds_total{worker=\"1\"}"), 2.5);
  EXPECT_EQ(page.value("weir_config_generation"), 7);
  EXPECT_EQ(page.value("weir_config_reloads_total{result=\"rejected\"}"), 1);
  EXPECT_EQ(page.value("weir_request_duration_seconds_count"), 4);
}

TEST(Metrics, TrafficAddsNoSeries) {
  Metrics metrics(2, "1");
  metrics.configure(names());
  const std::size_t before = Page(metrics.exposition()).size();
  Chain chain;
  chain.record.upstream = "default";
  chain.record.upstream_status = 200;
  for (int tenant = 0; tenant < 100000; ++tenant) {
    const std::string caller = "tenant-" + std::to_string(tenant);
    chain.record.caller = caller;
    for (int path = 0; path < 10; ++path) {
      const std::string api = "/api/" + std::to_string(tenant * 10 + path);
      chain.record.api = api;
      chain.record.endpoint = api;
      metrics.worker(static_cast<std::size_t>(tenant % 2)).record(chain.record);
    }
    metrics.worker(0).identity_missing(caller, caller);
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = metrics.exposition();
  const auto took = std::chrono::steady_clock::now() - begin;
  const Page page(text);
  EXPECT_LT(page.size() - before, 200U);
  EXPECT_LT(text.size(), 1U << 20);
  EXPECT_LT(took, std::chrono::milliseconds(500));  // 50 ms on an idle machine
  EXPECT_EQ(page.value("weir_caller_requests_total{caller=\"other\",outcome=\"allowed\"}"), 1000000);
}

TEST(Metrics, ConfiguredNamesAreCapped) {
  Metrics metrics(1, "1");
  ConfiguredNames many;
  for (int n = 0; n < 5000; ++n) many.callers.push_back("caller-" + std::to_string(n));
  metrics.configure(many);
  metrics.configure(many);
  EXPECT_EQ(metrics.names().callers.names().size(), 256U);
  EXPECT_EQ(metrics.names().callers.find("caller-4000"), 256U);
  EXPECT_EQ(metrics.names().callers.find("caller-7"), 7U);
}

TEST(Metrics, SourcesAreShownAndMended) {
  Metrics metrics(1, "1");
  const auto source = [](std::string peer) {
    return [peer = std::move(peer)] {
      HistogramValue sizes{{1, 2}, {3, 0, 4}, 17};
      return std::vector<SampleFamily>{
          {"weir_test_gauge", "one\nbad\\help", SampleKind::gauge, {{{{"peer", peer}}, 2.5, {}}}},
          {"weir_test_size_" + std::string(peer == "b" ? "b" : "a"),
           "Sizes",
           SampleKind::histogram,
           {{{}, 0, sizes}}}};
    };
  };
  metrics.add_source(source("a\"\\\n\xff"));
  metrics.add_source(source("b"));
  const std::string text = metrics.exposition();
  const Page page(text);
  EXPECT_EQ(page.value("weir_test_gauge{peer=\"b\"}"), 2.5);
  EXPECT_EQ(page.value("weir_test_size_b_bucket{le=\"2\"}"), 3);
  EXPECT_EQ(page.value("weir_test_size_b_bucket{le=\"+Inf\"}"), 7);
  EXPECT_THAT(text, HasSubstr("# HELP weir_test_gauge one bad help\n"));
}

TEST(Metrics, HistogramsOfComponentsAreSummed) {
  Histogram one(kQuickBounds);
  Histogram two(kQuickBounds);
  one.observe(100);
  two.observe(101);
  two.observe(1'000'000);
  const std::array<const Histogram*, 2> both{&one, &two};
  const Page page(expose({histogram_family("weir_test_seconds", "Calls", both)}));
  EXPECT_EQ(page.value("weir_test_seconds_bucket{le=\"0.0001\"}"), 1);
  EXPECT_EQ(page.value("weir_test_seconds_bucket{le=\"0.25\"}"), 2);
  EXPECT_EQ(page.value("weir_test_seconds_count"), 3);
}

TEST(Metrics, ScrapesWhileWorkersCountAndNamesGrow) {
  Metrics metrics(2, "1");
  metrics.configure(names());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < 2; ++n) {
    threads.emplace_back([&metrics, &stop, n] {
      const Chain chain({3});
      while (!stop) metrics.worker(n).record(chain.record);
    });
  }
  for (int n = 0; n < 20; ++n) {
    ConfiguredNames more;
    more.callers = {"late-" + std::to_string(n)};
    metrics.configure(more);
    const Page page(metrics.exposition());
    EXPECT_GE(page.value("weir_requests_total{outcome=\"over_limit\"}"), 0);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  const Page page(metrics.exposition());
  EXPECT_EQ(page.value("weir_denials_total{layer=\"api\"}"),
            page.value("weir_requests_total{outcome=\"over_limit\"}"));
}

}  // namespace
}  // namespace weir::telemetry
