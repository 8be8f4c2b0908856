// SPDX-License-Identifier: Apache-2.0
// The program's own log: one line per cause and interval, nothing that a message says can break a line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <thread>

#include "telemetry/log.hpp"
#include "telemetry/records.hpp"
#include "telemetry/suppressor.hpp"

namespace weir::telemetry {
namespace {

using test::contents;
using test::Folder;
using test::lines;

TEST(Suppressor, AdmitsOnePerCauseAndInterval) {
  Suppressor suppressor;
  EXPECT_EQ(suppressor.admit("a", 0, 1000), std::optional<std::uint64_t>(0));
  for (int n = 0; n < 500; ++n) EXPECT_FALSE(suppressor.admit("a", n, 1000));
  EXPECT_EQ(suppressor.admit("b", 10, 1000), std::optional<std::uint64_t>(0));
  EXPECT_EQ(suppressor.admit("a", 1000, 1000), std::optional<std::uint64_t>(500));
  EXPECT_EQ(suppressor.admit("a", 2000, 1000), std::optional<std::uint64_t>(0));
  EXPECT_EQ(suppressor.suppressed(), 500U);
}

TEST(Suppressor, OwesTheCountOfAStormThatEnded) {
  Suppressor suppressor;
  suppressor.admit("a", 0, 1000);
  suppressor.admit("a", 1, 1000);
  suppressor.admit("quiet", 0, 1000);
  EXPECT_TRUE(suppressor.take_rests(999).empty());
  const auto rests = suppressor.take_rests(1000);
  ASSERT_EQ(rests.size(), 1U);
  EXPECT_EQ(rests[0].cause, "a");
  EXPECT_EQ(rests[0].suppressed, 1U);
  EXPECT_TRUE(suppressor.take_rests(5000).empty());
}

TEST(Suppressor, TheCountIsTheLineOfItsInterval) {
  Suppressor suppressor;
  suppressor.admit("a", 0, 1000);
  suppressor.admit("a", 1, 1000);
  ASSERT_EQ(suppressor.take_rests(1000).size(), 1U);
  EXPECT_FALSE(suppressor.admit("a", 1001, 1000));
  EXPECT_TRUE(suppressor.take_rests(1999).empty());
  EXPECT_EQ(suppressor.admit("a", 2000, 1000), std::optional<std::uint64_t>(1));
}

TEST(Suppressor, ManyCausesShareOne) {
  Suppressor suppressor;
  std::size_t admitted = 0;
  for (int n = 0; n < 100000; ++n)
    admitted += suppressor.admit("cause" + std::to_string(n), 5, 1000).has_value();
  EXPECT_LE(admitted, 257U);
  EXPECT_EQ(suppressor.suppressed(), 100000U - admitted);
}

TEST(ProgramLog, WritesJsonLinesThatNoMessageCanBreak) {
  const Folder folder;
  ASSERT_TRUE(start_log({LogLevel::info, LogFormat::json, folder.file("log")}));
  log_warn("store.timeout", "evil\n{\"level\":\"error\"}\xff \"quoted\"");
  log_debug("not.shown", "x");
  set_log_level(LogLevel::debug);
  log_debug("shown", "%v {} %s");
  set_log_level(LogLevel::off);
  log_error("not.shown", "x");
  set_log_level(LogLevel::info);
  stop_log();
  const auto written = lines(contents(folder.file("log")));
  ASSERT_EQ(written.size(), 2U);
  const auto first = boost::json::parse(written[0]);
  EXPECT_EQ(first.at("level").as_string(), "warn");
  EXPECT_EQ(first.at("cause").as_string(), "store.timeout");
  EXPECT_EQ(first.at("message").as_string(), "evil\n{\"level\":\"error\"}\xef\xbf\xbd \"quoted\"");
  EXPECT_EQ(boost::json::parse(written[1]).at("message").as_string(), "%v {} %s");
}

TEST(ProgramLog, PlainLinesStayOneLineEach) {
  const Folder folder;
  ASSERT_TRUE(start_log({LogLevel::info, LogFormat::plain, folder.file("log")}));
  log_error("a.b", "one\ntwo");
  stop_log();
  const auto written = lines(contents(folder.file("log")));
  ASSERT_EQ(written.size(), 1U);
  EXPECT_THAT(written[0], testing::EndsWith("Z error a.b: one\\ntwo"));
}

TEST(ProgramLog, AStormIsOneLineAndACount) {
  const Folder folder;
  ASSERT_TRUE(start_log({LogLevel::info, LogFormat::json, folder.file("log")}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int n = 0; n < 25000; ++n) {
        log_limited(LogLevel::warn, "storm.test", "store is down", std::chrono::hours(1));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  log_limited(LogLevel::warn, "storm.short", "first", std::chrono::milliseconds(0));
  stop_log();
  EXPECT_EQ(lines(contents(folder.file("log"))).size(), 2U);
  EXPECT_GE(log_lines_suppressed(), 99999U);
}

TEST(ProgramLog, FallsBackToStderr) {
  EXPECT_FALSE(start_log({LogLevel::info, LogFormat::json, "/proc/no/such/file"}));
  stop_log();
}

TEST(ProgramLog, NamesItsLevels) {
  EXPECT_EQ(log_level_of("debug"), LogLevel::debug);
  EXPECT_EQ(log_level_of("error"), LogLevel::error);
  EXPECT_EQ(log_level_of("loud", LogLevel::warn), LogLevel::warn);
}

}  // namespace
}  // namespace weir::telemetry
