// SPDX-License-Identifier: Apache-2.0
#include "redis/script.hpp"

#include <gtest/gtest.h>

#include "redis/resp.hpp"
#include "support/await.hpp"
#include "support/fake_resp.hpp"
#include "support/redis_server.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using test::await;
using test::FakeResp;
using test::RedisServer;
using test::RespClient;
using Then = FakeResp::Answer::Then;

// SHA1 of "return redis.call('INCR', KEYS[1])".
const Script kCount{"count", "61636018f4e6b5817b89791bbed242f93fa089e3",
                    "return redis.call('INCR', KEYS[1])"};

class ScriptTest : public ::testing::Test {
 protected:
  ~ScriptTest() override {
    if (connection_) connection_->close();
    loop_.restart();
    loop_.run();
  }
  ScriptRunner& connect(std::uint16_t port) {
    ConnectionOptions options;
    options.port = port;
    options.backoff_min = 5ms;
    options.backoff_max = 20ms;
    connection_ = Connection::start(loop_.get_executor(), options);
    EXPECT_TRUE(await(loop_, connection_->wait_ready(std::chrono::steady_clock::now() + 20s)));
    runner_.emplace(connection_, kCount);
    arguments_.clear();
    arguments_.start(1);
    arguments_.add(std::string_view("k"));
    return *runner_;
  }
  // `calls` at once; the replies in order of arrival.
  std::vector<Result<Reply>> run(int calls, std::chrono::milliseconds timeout = 20000ms) {
    std::vector<Result<Reply>> replies;
    for (int n = 0; n < calls; ++n) {
      boost::asio::co_spawn(
          loop_, runner_->run(arguments_, std::chrono::steady_clock::now() + timeout),
          [&](std::exception_ptr, Result<Reply> reply) { replies.push_back(std::move(reply)); });
    }
    test::run_until(loop_, [&] { return replies.size() == static_cast<std::size_t>(calls); });
    return replies;
  }

  boost::asio::io_context loop_;
  std::shared_ptr<Connection> connection_;
  std::optional<ScriptRunner> runner_;
  ScriptArguments arguments_;
};

TEST_F(ScriptTest, SurvivesAFlushWithOneBodyAndNoDoubleCharge) {
  RedisServer server;
  RespClient client(server.port());
  ScriptRunner& runner = connect(server.port());
  EXPECT_EQ(run(1)[0]->integer, 1);
  EXPECT_EQ(runner.reloads(), 1U);
  EXPECT_EQ(client.call({"SCRIPT", "EXISTS", kCount.sha1}).elements.at(0).integer, 1);
  for (int round = 0; round < 3; ++round) {
    client.call({"SCRIPT", "FLUSH"});
    const std::int64_t before = client.integer({"INCRBY", "k", "0"});
    const std::uint64_t reloads = runner.reloads();
    int failed = 0;
    for (const auto& reply : run(200)) failed += reply ? 0 : 1;
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(client.integer({"INCRBY", "k", "0"}), before + 200);
    EXPECT_EQ(runner.reloads(), reloads + 1);
  }
}

TEST_F(ScriptTest, AServerThatForgetsAtOnceIsServedByEval) {
  std::atomic<int> executed = 0;
  FakeResp server([&](const FakeResp::Request& request) {
    if (request[0] == "EVALSHA") return FakeResp::Answer{"-NOSCRIPT No matching script.\r\n"};
    ++executed;
    return FakeResp::Answer{":1\r\n"};
  });
  connect(server.port());
  int failed = 0;
  for (const auto& reply : run(20)) failed += reply ? 0 : 1;
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(executed, 20);
}

TEST_F(ScriptTest, ANoscriptThatNeverEndsEnds) {
  FakeResp server([](const FakeResp::Request&) { return FakeResp::Answer{"-NOSCRIPT never\r\n"}; });
  connect(server.port());
  EXPECT_EQ(run(1)[0].error(), make_error_code(ErrorKind::noscript));
  EXPECT_LE(server.count("EVALSHA") + server.count("EVAL"), 3U);
}

// The outcome of each of these is unknown, so nothing may be sent a second time.
TEST_F(ScriptTest, AnUnknownOutcomeIsNeverSentAgain) {
  const std::vector<FakeResp::Answer> faults{
      {"", Then::close}, {"", Then::reset}, {"*7\r\n:1\r\n", Then::reset}, {"", Then::stay}};
  for (const FakeResp::Answer& fault : faults) {
    FakeResp server([&](const FakeResp::Request&) { return fault; });
    connect(server.port());
    for (int n = 0; n < 5; ++n) {
      ASSERT_TRUE(await(loop_, connection_->wait_ready(std::chrono::steady_clock::now() + 20s)));
      EXPECT_FALSE(run(1, 50ms)[0]);
    }
    EXPECT_EQ(server.count("EVALSHA"), 5U);
    EXPECT_EQ(server.count("EVAL"), 0U);
    connection_->close();
  }
}

}  // namespace
}  // namespace weir::redis
