// SPDX-License-Identifier: Apache-2.0
#include "redis/connection.hpp"

#include <gtest/gtest.h>

#include <boost/asio/use_awaitable.hpp>
#include <set>

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

class ConnectionTest : public ::testing::Test {
 protected:
  ~ConnectionTest() override {
    for (auto& connection : opened_) connection->close();
    loop_.restart();
    loop_.run();
  }

  std::shared_ptr<Connection> open(ConnectionOptions options) {
    opened_.push_back(Connection::start(loop_.get_executor(), std::move(options)));
    return opened_.back();
  }
  static ConnectionOptions to(std::uint16_t port) {
    ConnectionOptions options;
    options.port = port;
    options.backoff_min = 5ms;
    options.backoff_max = 20ms;
    return options;
  }
  std::shared_ptr<Connection> open_ready(ConnectionOptions options) {
    auto connection = open(std::move(options));
    EXPECT_TRUE(ready(*connection));
    return connection;
  }
  bool ready(Connection& connection, std::chrono::milliseconds patience = 20000ms) {
    return await(loop_, connection.wait_ready(std::chrono::steady_clock::now() + patience));
  }
  Result<Reply> ask(Connection& connection, std::initializer_list<std::string_view> words,
                    std::chrono::milliseconds timeout = 20000ms) {
    std::string request;
    append_command(request, words);
    return await(loop_, once(connection, request, std::chrono::steady_clock::now() + timeout));
  }
  static boost::asio::awaitable<Result<Reply>> once(Connection& connection, std::string_view request,
                                                    TimePoint deadline) {
    co_return co_await connection.execute(request, deadline, boost::asio::use_awaitable);
  }
  static error_code kind(ErrorKind kind) { return make_error_code(kind); }

  boost::asio::io_context loop_;
  std::vector<std::shared_ptr<Connection>> opened_;
};

TEST_F(ConnectionTest, AnswersOverTcpAndUnixSocket) {
  RedisServer server;
  auto tcp = open_ready(to(server.port()));
  EXPECT_EQ(ask(*tcp, {"ECHO", "hello"})->text, "hello");
  ConnectionOptions options;
  options.unix_path = server.unix_path();
  auto local = open_ready(options);
  EXPECT_EQ(ask(*local, {"ECHO", "there"})->text, "there");
  ConnectionOptions by_name = to(server.port());
  by_name.host = "localhost";
  EXPECT_EQ(ask(*open_ready(by_name), {"ECHO", "name"})->text, "name");
}

TEST_F(ConnectionTest, ThousandCallsAtOnceKeepTheirOrder) {
  RedisServer server;
  auto connection = open_ready(to(server.port()));
  int wrong = 0;
  int left = 1000;
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  for (int n = 0; n < 1000; ++n) {
    std::string request;
    append_command(request, {"ECHO", std::to_string(n)});
    connection->execute(request, deadline, [&, n](Result<Reply> reply) {
      if (!reply || reply->text != std::to_string(n)) ++wrong;
      --left;
    });
  }
  test::run_until(loop_, [&] { return left == 0; });
  EXPECT_EQ(wrong, 0);
}

TEST_F(ConnectionTest, LargeRequestsAreWrittenInPieces) {
  RedisServer server;
  ConnectionOptions options = to(server.port());
  options.max_reply_bytes = 64 * 1024 * 1024;
  auto connection = open_ready(options);
  const std::string large(8 * 1024 * 1024, 'x');
  EXPECT_EQ(ask(*connection, {"SET", "k", large})->text, "OK");
  EXPECT_EQ(ask(*connection, {"GET", "k"})->text, large);
}

TEST_F(ConnectionTest, AuthenticatesAndSelects) {
  RedisServer server({"--requirepass", "open sesame"});
  ConnectionOptions options = to(server.port());
  options.password = "open sesame";
  options.database = 3;
  auto connection = open_ready(options);
  EXPECT_TRUE(ask(*connection, {"SET", "k", "v"}));
  EXPECT_NE(ask(*connection, {"CLIENT", "INFO"})->text.find("db=3"), std::string::npos);
}

TEST_F(ConnectionTest, AWrongPasswordIsSaidAsSuch) {
  RedisServer server({"--requirepass", "open sesame"});
  for (const char* password : {"", "wrong"}) {
    ConnectionOptions options = to(server.port());
    options.password = password;
    auto connection = open(options);
    test::run_until(loop_, [&] { return connection->stats().disconnects > 0; });
    EXPECT_EQ(ask(*connection, {"PING"}).error(), kind(ErrorKind::noauth));
    EXPECT_FALSE(connection->ready());
  }
}

TEST_F(ConnectionTest, WithoutAServerCallsFailAtOnce) {
  auto connection = open(to(test::free_port()));
  const auto begin = std::chrono::steady_clock::now();
  for (int n = 0; n < 50; ++n) EXPECT_EQ(ask(*connection, {"PING"}).error(), kind(ErrorKind::unavailable));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST_F(ConnectionTest, AttemptsAreOneAtATimeAndBackOff) {
  FakeResp server([](const FakeResp::Request&) { return FakeResp::Answer{"", Then::close}; },
                  FakeResp::Greets::as_told);
  ConnectionOptions options = to(server.port());
  options.backoff_min = 40ms;
  options.backoff_max = 10s;
  auto connection = open(options);
  loop_.restart();
  loop_.run_for(1s);
  // Pauses of at least 20, 40, 80, 160, 320, 640 ms.
  EXPECT_GE(server.connections(), 3U);
  EXPECT_LE(server.connections(), 7U);
}

TEST_F(ConnectionTest, AStoppedServerTimesOutAndIsFoundAgain) {
  RedisServer server;
  auto connection = open_ready(to(server.port()));
  server.pause();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(*connection, {"INCR", "k"}, 30ms).error(), kind(ErrorKind::timeout));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 29ms);
  EXPECT_FALSE(connection->ready());
  EXPECT_EQ(ask(*connection, {"INCR", "k"}, 30ms).error(), kind(ErrorKind::unavailable));
  server.resume();
  ASSERT_TRUE(ready(*connection));
  EXPECT_EQ(connection->stats().connects, 2U);
}

TEST_F(ConnectionTest, WhenTheOldestTimesOutAllFail) {
  RedisServer server;
  auto connection = open_ready(to(server.port()));
  server.pause();
  int timeouts = 0;
  std::string request;
  append_command(request, {"PING"});
  const auto now = std::chrono::steady_clock::now();
  for (int n = 0; n < 10; ++n) {
    connection->execute(request, now + (n == 5 ? 20ms : 60s), [&](Result<Reply> reply) {
      if (!reply && reply.error() == kind(ErrorKind::timeout)) ++timeouts;
    });
  }
  test::run_until(loop_, [&] { return timeouts == 10; });
}

TEST_F(ConnectionTest, ComesBackAfterARestart) {
  RedisServer server;
  auto connection = open_ready(to(server.port()));
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t before = connection->stats().disconnects;
    server.restart();
    test::run_until(loop_, [&] { return connection->stats().disconnects > before; });
    ASSERT_TRUE(ready(*connection));
    EXPECT_EQ(ask(*connection, {"ECHO", "x"})->text, "x");
  }
}

TEST_F(ConnectionTest, AnErrorReplyIsAnErrorAndTheConnectionStays) {
  RedisServer server;
  auto connection = open_ready(to(server.port()));
  EXPECT_TRUE(ask(*connection, {"SET", "k", "v"}));
  EXPECT_EQ(ask(*connection, {"LPUSH", "k", "v"}).error(), kind(ErrorKind::wrong_type));
  EXPECT_EQ(ask(*connection, {"EVALSHA", std::string(40, '0'), "0"}).error(), kind(ErrorKind::noscript));
  EXPECT_EQ(ask(*connection, {"NONSENSE"}).error(), kind(ErrorKind::other));
  EXPECT_EQ(connection->stats().disconnects, 0U);
}

TEST_F(ConnectionTest, ReadonlyMakesANewConnection) {
  FakeResp server([](const FakeResp::Request&) { return FakeResp::Answer{"-READONLY a replica\r\n"}; });
  auto connection = open_ready(to(server.port()));
  EXPECT_EQ(ask(*connection, {"SET", "k", "v"}).error(), kind(ErrorKind::readonly));
  EXPECT_FALSE(connection->ready());
  ASSERT_TRUE(ready(*connection));
  EXPECT_EQ(server.connections(), 2U);
}

TEST_F(ConnectionTest, AServerThatLoadsIsNotReady) {
  std::atomic<bool> loading = true;
  FakeResp server(
      [&](const FakeResp::Request&) {
        return FakeResp::Answer{loading ? "-LOADING in a moment\r\n" : "+PONG\r\n"};
      },
      FakeResp::Greets::as_told);
  auto connection = open(to(server.port()));
  test::run_until(loop_, [&] { return connection->stats().disconnects > 2; });
  EXPECT_EQ(ask(*connection, {"PING"}).error(), kind(ErrorKind::loading));
  loading = false;
  EXPECT_TRUE(ready(*connection));
}

TEST_F(ConnectionTest, NonsenseFailsEverythingThatWaits) {
  for (const char* nonsense :
       {"HTTP/1.1 400 Bad Request\r\n", "*1000000000\r\n", "+one\r\n+two\r\n+three\r\n"}) {
    FakeResp server([nonsense](const FakeResp::Request& request) {
      return FakeResp::Answer{request[0] == "BAD" ? nonsense : ""};
    });
    auto connection = open_ready(to(server.port()));
    ask(*connection, {"BAD"}, 5s);
    test::run_until(loop_, [&] { return connection->stats().disconnects == 1; });
    EXPECT_EQ(connection->stats().last_error, static_cast<int>(ErrorKind::protocol)) << nonsense;
  }
}

TEST_F(ConnectionTest, AnIdleConnectionIsProbed) {
  RedisServer server;
  ConnectionOptions options = to(server.port());
  options.idle_ping = 20ms;
  options.connect_timeout = 100ms;
  auto connection = open_ready(options);
  loop_.restart();
  loop_.run_for(100ms);
  EXPECT_TRUE(connection->ready());
  server.pause();
  test::run_until(loop_, [&] { return !connection->ready(); });
  EXPECT_EQ(connection->stats().last_error, static_cast<int>(ErrorKind::timeout));
}

TEST_F(ConnectionTest, BeyondTheBoundCallsAreRefused) {
  RedisServer server;
  ConnectionOptions options = to(server.port());
  options.max_pending = 10;
  auto connection = open_ready(options);
  int refused = 0;
  int answered = 0;
  std::string request;
  append_command(request, {"PING"});
  for (int n = 0; n < 25; ++n) {
    connection->execute(request, std::chrono::steady_clock::now() + 20s,
                        [&](Result<Reply> reply) { ++(reply ? answered : refused); });
  }
  test::run_until(loop_, [&] { return refused + answered == 25; });
  EXPECT_EQ(refused, 15);
  EXPECT_TRUE(connection->ready());
}

TEST_F(ConnectionTest, CloseFailsWhatWaitsAndDestructionDropsIt) {
  RedisServer server;
  auto connection = open_ready(to(server.port()));
  server.pause();
  bool failed = false;
  std::string request;
  append_command(request, {"PING"});
  connection->execute(request, std::chrono::steady_clock::now() + 60s,
                      [&](Result<Reply> reply) { failed = !reply; });
  connection->close();
  test::run_until(loop_, [&] { return failed; });
  EXPECT_EQ(ask(*connection, {"PING"}).error(), kind(ErrorKind::unavailable));

  // A loop that is destroyed with a coroutine waiting: nothing may leak or be touched (the sanitizers look).
  auto loop = std::make_unique<boost::asio::io_context>();
  auto other = Connection::start(loop->get_executor(), to(server.port()));
  server.resume();
  ASSERT_TRUE(await(*loop, other->wait_ready(std::chrono::steady_clock::now() + 20s)));
  server.pause();
  const std::string late = request;
  boost::asio::co_spawn(*loop, once(*other, late, std::chrono::steady_clock::now() + 60s),
                        [](std::exception_ptr, Result<Reply>) {});
  loop->restart();
  loop->run_for(20ms);
  other.reset();
  loop.reset();
}

}  // namespace
}  // namespace weir::redis
