// SPDX-License-Identifier: Apache-2.0
// The Lua on a real Redis against the oracle (tests/support/reference.py), step for step: random terms,
// costs, clock steps both ways, reloads, refunds. The clock is the trace's.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <deque>
#include <map>

#include "lua/script_client.hpp"
#include "redis/resp.hpp"

namespace weir::test {
namespace {

using limit::AlgorithmKind;

constexpr int kSteps = 100'000;
constexpr std::size_t kBatch = 300;
constexpr std::int64_t kClockMs = 2000;  // between the server's readings of its clock

class Oracle {
 public:
  Oracle(std::string_view algorithm, int steps) {
    const std::string command = "python3 " WEIR_SOURCE_DIR
                                "/tests/support/reference.py trace --seed lua --algorithm " +
                                std::string(algorithm) + " --steps " + std::to_string(steps);
    pipe_ = ::popen(command.c_str(), "r");
  }
  ~Oracle() { ::pclose(pipe_); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  std::string next() {
    char line[4096];
    return std::fgets(line, sizeof line, pipe_) == nullptr ? std::string() : std::string(line);
  }

 private:
  std::FILE* pipe_;
};

// One line of the trace as a set of one layer.
struct Step {
  std::string line;
  std::string op;
  limit::Policy policy;
  limit::ChargeSet set;
  limit::Verdict want;
  std::int64_t now_ms = 0;
  std::int64_t delta = 0;
  std::int64_t ttl_ms = -1;  // how long the key must live on; -1: not asked
  std::int64_t end_ms = 0;   // the latest end that this step may give the key

  Step(std::string text, AlgorithmKind kind) : line(std::move(text)) {
    const boost::json::object from = boost::json::parse(line).as_object();
    const auto number = [&from](std::string_view name) { return from.at(name).as_int64(); };
    op = from.at("op").as_string().c_str();
    now_ms = number("now");
    delta = number("delta");
    policy.terms = {kind,
                    number("limit"),
                    number("window_ms"),
                    number("burst"),
                    number("max_wait_ms"),
                    number("cells"),
                    number("calendar") != 0};
    const std::string key = std::string(limit::name_of(kind)) + ":" + std::to_string(number("key"));
    limit::Charge& charge = add_layer(set, policy, key, number("cost"));
    charge.request.offset_ms = number("offset");
    charge.request.owner = static_cast<std::uint64_t>(number("owner"));
    for (std::size_t n = 0; n < 4; ++n) charge.request.bounds.at[n] = from.at("bounds").at(n).as_int64();
    charge.charged = true;  // for settle, release, renew
    set.store_now_ms = number("charged_at");
    const boost::json::object& expected = from.at("want").as_object();
    const auto wanted = [&expected](std::string_view name) { return expected.at(name).as_int64(); };
    want = {wanted("within") != 0, wanted("limit"), wanted("remaining"),
            wanted("retry"),       wanted("reset"), wanted("wait")};
    const bool knows_ttl = expected.contains("ttl");
    if (knows_ttl && number("step") % 10 == 0) ttl_ms = wanted("ttl");
    const std::int64_t life = knows_ttl ? wanted("ttl") : want.reset_ms + 2 * policy.terms.window_ms + 1000;
    end_ms = now_ms + life + 1000 + life / 8;
  }

  bool tells() const { return op == "settle" || op == "release" || op == "renew"; }
  // Slots are not settled: there is nothing to send.
  bool notifies() const {
    return tells() && !(op == "settle" && policy.terms.algorithm == AlgorithmKind::concurrency);
  }
};

void add_step(const ScriptClient& client, Step& step, std::string& batch) {
  if (step.tells()) {
    if (step.notifies()) client.add_notice(batch, step.set, step.op, step.delta, step.now_ms);
    step.set.charge[0].request.cost = 0;
    client.add_question(batch, step.set, "peek", step.now_ms);
  } else {
    client.add_question(batch, step.set, step.op == "take" ? "decide" : "peek", step.now_ms);
  }
  if (step.ttl_ms < 0) return;
  redis::append_command(batch, {"PTTL", step.set.charge[0].key});
  redis::append_command(batch, {"TIME"});
}

// By key, the latest end that a step may have given it: an end that is late enough is left alone.
using Ends = std::map<std::string, std::int64_t, std::less<>>;

void check_step(ScriptClient& client, Step& step, Ends& ends) {
  if (step.notifies()) {
    ASSERT_EQ(client.raw().receive().type, redis::Reply::Type::array) << step.line;
  }
  const redis::Reply reply = client.raw().receive();
  ASSERT_TRUE(read_answer(reply, step.set)) << reply.text << step.line;
  const limit::Charge& charge = step.set.charge[0];
  const limit::Verdict& got = charge.verdict;
  ASSERT_EQ(got.within_limit, step.want.within_limit) << step.line;
  ASSERT_EQ(got.limit, step.want.limit) << step.line;
  ASSERT_EQ(got.remaining, step.want.remaining) << step.line;
  ASSERT_EQ(got.retry_after_ms, step.want.retry_after_ms) << step.line;
  ASSERT_EQ(got.reset_ms, step.want.reset_ms) << step.line;
  ASSERT_EQ(got.wait_ms, step.want.wait_ms) << step.line;
  ASSERT_EQ(charge.charged, step.op == "take" && step.want.within_limit) << step.line;
  ASSERT_EQ(step.set.store_now_ms, step.now_ms);
  std::int64_t& latest = ends[std::string(charge.key)];
  latest = std::max(latest, step.end_ms);
  if (step.ttl_ms < 0) return;
  const redis::Reply pttl = client.raw().receive();
  const std::int64_t life = ScriptClient::life_of(pttl, client.raw().receive(), step.now_ms);
  ASSERT_GE(life, step.ttl_ms - kClockMs) << step.line;
  ASSERT_LE(life, latest - step.now_ms + kClockMs) << step.line;
}

class Parity : public ::testing::TestWithParam<AlgorithmKind> {};

TEST_P(Parity, LuaAgreesWithTheOracle) {
  RedisServer server;
  ScriptClient client(server.port());
  Oracle oracle(limit::name_of(GetParam()), kSteps);
  Ends ends;
  int steps = 0;
  while (true) {
    std::deque<Step> batch;
    std::string requests;
    while (batch.size() < kBatch) {
      std::string line = oracle.next();
      if (line.empty()) break;
      batch.emplace_back(std::move(line), GetParam());
      add_step(client, batch.back(), requests);
    }
    if (batch.empty()) break;
    client.raw().send(requests);
    for (Step& step : batch) {
      ASSERT_NO_FATAL_FAILURE(check_step(client, step, ends));
      ++steps;
    }
  }
  EXPECT_EQ(steps, kSteps);
  const std::int64_t month_ms = std::int64_t{31} * 24 * 3600 * 1000;
  EXPECT_GT(expect_all_keys_end(client.raw(), 1000 * month_ms), 100U);
}

INSTANTIATE_TEST_SUITE_P(Lua, Parity,
                         ::testing::Values(AlgorithmKind::fixed_window, AlgorithmKind::sliding_window,
                                           AlgorithmKind::sliding_counter, AlgorithmKind::sliding_log,
                                           AlgorithmKind::token_bucket, AlgorithmKind::gcra,
                                           AlgorithmKind::leaky_bucket, AlgorithmKind::concurrency),
                         [](const auto& of) { return std::string(limit::name_of(of.param)); });

}  // namespace
}  // namespace weir::test
