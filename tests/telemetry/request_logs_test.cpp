// SPDX-License-Identifier: Apache-2.0
// Access and denial lines, and how refusals are sampled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json.hpp>
#include <map>

#include "telemetry/access_log.hpp"
#include "telemetry/denial_log.hpp"
#include "telemetry/json_line.hpp"
#include "telemetry/records.hpp"

namespace weir::telemetry {
namespace {

using test::Chain;
using test::contents;
using test::Folder;
using test::lines;

// What one worker's log wrote by the time it and its writers are gone.
template <class Log, class Use>
std::vector<boost::json::value> written_by(Use use) {
  const Folder folder;
  {
    LogWriters writers;
    EXPECT_TRUE(writers.configure(folder.file("log"), folder.file("log")));
    Log log(writers);
    use(log);
  }
  std::vector<boost::json::value> out;
  for (const std::string& line : lines(contents(folder.file("log")))) out.push_back(boost::json::parse(line));
  return out;
}

std::vector<std::string> keys(const boost::json::value& line) {
  std::vector<std::string> out;
  for (const auto& [key, value] : line.as_object()) out.emplace_back(key);
  return out;
}

TEST(DenialLog, CarriesExactlyTheseFields) {
  const auto written = written_by<DenialLog>([](DenialLog& log) {
    const Chain allowed;
    log.record(allowed.record, 0);
    const Chain refused({2, 3});
    log.record(refused.record, 0);
  });
  ASSERT_EQ(written.size(), 1U);
  const boost::json::value& line = written[0];
  EXPECT_THAT(keys(line),
              testing::UnorderedElementsAre("time", "final_hit_layer", "hit_layers", "caller_id", "user_id",
                                            "api_path", "limit_value", "current_value", "request_id",
                                            "retry_after", "client", "method", "status", "weight"));
  EXPECT_EQ(line.at("final_hit_layer").as_string(), "user");
  EXPECT_EQ(boost::json::serialize(line.at("hit_layers")), "[\"user\",\"api\"]");
  EXPECT_EQ(line.at("caller_id").as_string(), "acme");
  EXPECT_EQ(line.at("user_id").as_string(), "u1");
  EXPECT_EQ(line.at("api_path").as_string(), "POST /order/{id}/pay");
  EXPECT_EQ(line.at("limit_value").as_int64(), 100);
  EXPECT_EQ(line.at("retry_after").as_int64(), 3);
  EXPECT_EQ(line.at("status").as_int64(), 429);
  EXPECT_EQ(line.at("weight").as_int64(), 1);
}

TEST(DenialLog, EachLayerThatDeniesIsNamed) {
  for (std::size_t n = 0; n < 4; ++n) {
    const auto written = written_by<DenialLog>([n](DenialLog& log) {
      const Chain refused({n});
      log.record(refused.record, 0);
    });
    ASSERT_EQ(written.size(), 1U);
    EXPECT_EQ(written[0].at("final_hit_layer").as_string(), Chain().layers[n].layer);
    EXPECT_EQ(written[0].at("hit_layers").as_array().size(), 1U);
  }
}

TEST(DenialLog, NothingAClientSendsBreaksALine) {
  const auto written = written_by<DenialLog>([](DenialLog& log) {
    Chain refused({1});
    refused.record.caller = "a\",\"final_hit_layer\":\"none\n{}";
    refused.record.user = "\xff\xfe";
    log.record(refused.record, 0);
  });
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].at("final_hit_layer").as_string(), "caller");
}

TEST(DenialLog, SumsStayTrueUnderAttack) {
  // 5,000 refusals a second for ten seconds, then silence.
  constexpr int kSeconds = 10;
  constexpr int kPerSecond = 5000;
  std::map<std::string, std::int64_t> weights;
  std::int64_t total = 0;
  const auto written = written_by<DenialLog>([](DenialLog& log) {
    Chain refused({1});
    for (int n = 0; n < kSeconds * kPerSecond; ++n) {
      // Three callers in a fixed pattern, which must not resonate with the sampling: 6, 3 and 1 of ten.
      const int turn = n % 10;
      refused.record.caller = turn % 5 < 3 ? "loud" : turn == 9 ? "rare" : "mid";
      log.record(refused.record, n * 1000LL / kPerSecond);
    }
    log.tick(kSeconds * 1000 + 1000);
  });
  for (const auto& line : written) {
    weights[std::string(line.at("caller_id").as_string())] += line.at("weight").as_int64();
    total += line.at("weight").as_int64();
  }
  EXPECT_EQ(total, kSeconds * kPerSecond);
  EXPECT_LE(written.size(), kSeconds * 150U);
  EXPECT_GE(written.size(), kSeconds * 40U);
  EXPECT_NEAR(static_cast<double>(weights["loud"]), 30000, 3500);
  EXPECT_NEAR(static_cast<double>(weights["mid"]), 15000, 3500);
  EXPECT_NEAR(static_cast<double>(weights["rare"]), 5000, 3000);
}

TEST(DenialLog, CausesDoNotDrownOneAnother) {
  const auto written = written_by<DenialLog>([](DenialLog& log) {
    const Chain storm({3});
    const Chain single({0});
    for (int n = 0; n < 20000; ++n) log.record(storm.record, n / 20);
    log.record(single.record, 999);
  });
  const auto& last = written.back();
  std::size_t singles = 0;
  for (const auto& line : written) singles += line.at("final_hit_layer").as_string() == "node";
  EXPECT_EQ(singles, 1U);
  EXPECT_FALSE(last.as_object().empty());
}

TEST(DenialLog, AFixedFractionIsKept) {
  const auto written = written_by<DenialLog>([](DenialLog& log) {
    log.set_fraction(0.01);
    const Chain refused({1});
    for (int n = 0; n < 10050; ++n) log.record(refused.record, 0);
  });
  EXPECT_EQ(written.size(), 101U);  // a hundred whole blocks, and what the end left open
  std::int64_t total = 0;
  for (const auto& line : written) total += line.at("weight").as_int64();
  EXPECT_EQ(total, 10050);
}

TEST(AccessLog, SaysWhatHappened) {
  const auto written = written_by<AccessLog>([](AccessLog& log) {
    Chain chain;
    chain.record.upstream = "default";
    chain.record.endpoint = "127.0.0.1:9000";
    chain.record.upstream_status = 201;
    chain.record.upstream_us = 1250;
    chain.record.bytes_out = 77;
    log.record(chain.record, 0);
  });
  ASSERT_EQ(written.size(), 1U);
  const boost::json::value& line = written[0];
  EXPECT_EQ(line.at("time").as_string(), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(line.at("path").as_string(), "/order/7/pay");
  EXPECT_EQ(line.at("status").as_int64(), 200);
  EXPECT_EQ(line.at("endpoint").as_string(), "127.0.0.1:9000");
  EXPECT_DOUBLE_EQ(line.at("upstream_ms").as_double(), 1.25);
  EXPECT_EQ(line.at("bytes_out").as_int64(), 77);
  EXPECT_EQ(line.at("weight").as_int64(), 1);
  EXPECT_FALSE(line.as_object().contains("final_hit_layer"));
}

TEST(AccessLog, SaysWhatAReplayNeeds) {
  const auto written = written_by<AccessLog>([](AccessLog& log) {
    Chain chain;
    log.record(chain.record, 0);
    const std::string lengthy(5000, 'x');
    const std::array<NamedValue, 2> more{{{"role", "ops\"\n"}, {"device", lengthy}}};
    chain.record.identity = more;
    chain.record.cost = 2;
    chain.record.true_cost = 7;
    log.record(chain.record, 0);
  });
  ASSERT_EQ(written.size(), 2U);
  EXPECT_FALSE(written[0].as_object().contains("identity"));
  EXPECT_FALSE(written[0].as_object().contains("true_cost"));
  EXPECT_EQ(written[1].at("cost").as_int64(), 2);
  EXPECT_EQ(written[1].at("true_cost").as_int64(), 7);
  EXPECT_EQ(written[1].at("identity").at("role").as_string(), "ops\"\n");
  EXPECT_LE(written[1].at("identity").at("device").as_string().size(), kMaxLoggedText);
}

TEST(AccessLog, SamplesRefusalsOnly) {
  const auto written = written_by<AccessLog>([](AccessLog& log) {
    const Chain allowed;
    const Chain refused({2});
    for (int n = 0; n < 5000; ++n) {
      log.record(refused.record, n / 5);
      if (n % 10 == 0) log.record(allowed.record, n / 5);
    }
  });
  std::size_t allowed = 0;
  std::int64_t refused = 0;
  for (const auto& line : written) {
    if (line.at("outcome").as_string() == "allowed") {
      ++allowed;
    } else {
      refused += line.at("weight").as_int64();
    }
  }
  EXPECT_EQ(allowed, 500U);
  EXPECT_EQ(refused, 5000);
  EXPECT_LT(written.size(), 700U);
}

TEST(AccessLog, OffWritesNothing) {
  LogWriters writers;
  ASSERT_TRUE(writers.configure("off", "off"));
  AccessLog log(writers);
  const Chain chain;
  for (int n = 0; n < 10; ++n) log.record(chain.record, n);
  log.tick(5000);
  // Neither kept for later nor counted as lost.
  const Folder folder;
  ASSERT_TRUE(writers.configure(folder.file("log"), "off"));
  log.tick(10000);
  log.flush();
  EXPECT_EQ(contents(folder.file("log")), "");
  EXPECT_EQ(writers.lines_dropped(), 0U);
}

}  // namespace
}  // namespace weir::telemetry
