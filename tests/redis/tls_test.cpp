// SPDX-License-Identifier: Apache-2.0
// A connection that speaks TLS with a real server, and servers that it does not trust.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "redis/connection.hpp"
#include "redis/resp.hpp"
#include "support/await.hpp"
#include "support/certificates.hpp"
#include "support/redis_server.hpp"

namespace weir::redis {
namespace {

class RedisTlsTest : public ::testing::Test {
 protected:
  // Ready, or the reason why not.
  ErrorKind connect(const std::string& host, net::TlsClientOptions tls) {
    std::string why;
    ConnectionOptions options;
    options.host = host;
    options.port = tls_port_;
    options.backoff_min = options.backoff_max = std::chrono::milliseconds(10);
    options.tls = net::TlsClientContext::make(std::move(tls), why);
    connection_ = Connection::start(loop_.get_executor(), std::move(options));
    // A connection may break for other reasons; the certificate is judged at each.
    const auto kind = [&] { return static_cast<ErrorKind>(connection_->stats().last_error.load()); };
    test::run_until(loop_, [&] {
      const std::uint64_t lost = connection_->stats().disconnects;
      return connection_->ready() || lost > 3 || (lost > 0 && kind() != ErrorKind::unavailable);
    });
    return kind();
  }
  Result<Reply> call(std::initializer_list<std::string_view> words) {
    std::string request;
    append_command(request, words);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    return test::await(loop_, connection_->execute(request, deadline, boost::asio::use_awaitable));
  }
  void TearDown() override {
    connection_->close();
    loop_.restart();
    loop_.run();
  }

  struct Issued : test::Certificates {
    Issued() { issue("server", "DNS:localhost,IP:127.0.0.1"); }
  };
  Issued certificates_;
  std::uint16_t tls_port_ = test::free_port();
  test::RedisServer server_{{"--tls-port", std::to_string(tls_port_), "--tls-cert-file",
                             certificates_.path("server.pem"), "--tls-key-file",
                             certificates_.path("server.key"), "--tls-ca-cert-file",
                             certificates_.path("ca.pem"), "--tls-auth-clients", "no"}};
  boost::asio::io_context loop_;
  std::shared_ptr<Connection> connection_;
};

TEST_F(RedisTlsTest, SmallAndLargeCallsPass) {
  net::TlsClientOptions tls;
  tls.ca = certificates_.read("ca.pem");
  ASSERT_EQ(connect("localhost", std::move(tls)), ErrorKind{});
  ASSERT_EQ(call({"SET", "k", "v"}).value().text, "OK");
  const std::string large(50'000, 'x');
  ASSERT_EQ(call({"SET", "large", large}).value().text, "OK");
  EXPECT_EQ(call({"GET", "large"}).value().text, large);
  EXPECT_EQ(call({"GET", "k"}).value().text, "v");
}

TEST_F(RedisTlsTest, AnUnknownAuthorityIsNotTrusted) {
  EXPECT_EQ(connect("localhost", {}), ErrorKind::tls);
  EXPECT_FALSE(connection_->ready());
}

TEST_F(RedisTlsTest, AnotherNameIsNotTrusted) {
  net::TlsClientOptions tls;
  tls.ca = certificates_.read("ca.pem");
  tls.server_name = "redis.elsewhere";
  EXPECT_EQ(connect("127.0.0.1", std::move(tls)), ErrorKind::tls);
}

TEST_F(RedisTlsTest, AServerInTheClearIsNotTalkedTo) {
  tls_port_ = server_.port();
  net::TlsClientOptions tls;
  tls.ca = certificates_.read("ca.pem");
  EXPECT_NE(connect("127.0.0.1", std::move(tls)), ErrorKind{}) << "it may wait for the end of a line";
  EXPECT_FALSE(connection_->ready());
}

}  // namespace
}  // namespace weir::redis
