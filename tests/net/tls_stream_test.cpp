// SPDX-License-Identifier: Apache-2.0
// Both sides are TlsStreams over a socket pair; between them stands nothing, or a test that cuts.
#include "net/tls_stream.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <string>

#include "support/certificates.hpp"

namespace weir::net {
namespace {

using boost::asio::awaitable;
using Ask = TlsServerOptions::ClientCertificate;

class TlsStreamTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = new test::Certificates;
    made_->issue("server", "DNS:server.test,IP:127.0.0.1");
    made_->issue("client", "URI:spiffe://weir/client");
    made_->self_sign("lonely", "DNS:server.test");
  }
  static void TearDownTestSuite() {
    delete made_;
    made_ = nullptr;
  }

  TlsStreamTest() {
    server_options_.certificates = {made_->load("server")};
    server_options_.ticket_keys = &keys_;
    client_options_.ca = made_->read("ca.pem");
  }

  void connect(const std::string& host = "server.test") {
    std::string why;
    server_context_ = TlsServerContext::make(server_options_, why);
    ASSERT_NE(server_context_, nullptr) << why;
    if (client_context_ == nullptr) client_context_ = TlsClientContext::make(client_options_, why);
    ASSERT_NE(client_context_, nullptr) << why;
    client_.reset();
    server_.reset();
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    server_ = std::make_unique<TlsStream>(loop_, pair[0], server_context_);
    client_ = std::make_unique<TlsStream>(loop_, pair[1], true,
                                          TlsStream::Client{client_context_, host, sessions_});
  }

  static awaitable<void> shake(TlsStream& stream, error_code& failed, int& running) {
    const Result<void> done = co_await stream.handshake(0);
    failed = done ? error_code() : done.error();
    --running;
  }

  // Both handshakes, at the same time.
  void handshake() {
    int running = 2;
    boost::asio::co_spawn(io_, shake(*server_, server_failed_, running), boost::asio::detached);
    boost::asio::co_spawn(io_, shake(*client_, client_failed_, running), boost::asio::detached);
    while (running > 0) io_.run_one();
  }

  static awaitable<void> read_all(TlsStream& stream, std::string& text, error_code& end, bool& ended) {
    for (;;) {
      const auto got = stream.try_read(stream.loop().scratch());
      if (got && *got > 0) {
        text.append(stream.loop().scratch().data(), *got);
        continue;
      }
      if (got || !would_block(got.error())) {
        end = got ? error_code() : got.error();
        break;
      }
      (void)co_await stream.wait(Interest::read, 0);
    }
    ended = true;
  }

  static awaitable<void> write_all(TlsStream& stream, std::string_view text, bool& ended) {
    while (!text.empty()) {
      const auto taken = stream.try_write(text);
      if (!taken) break;
      text.remove_prefix(*taken);
      if (!text.empty()) (void)co_await stream.wait(Interest::write, 0);
    }
    stream.shutdown_write();
    ended = true;
  }

  static test::Certificates* made_;
  boost::asio::io_context io_{1};
  EventLoop loop_{io_, system_clock()};
  TicketKeys keys_{system_clock()};
  TlsServerOptions server_options_;
  TlsClientOptions client_options_;
  std::shared_ptr<const TlsServerContext> server_context_;
  std::shared_ptr<const TlsClientContext> client_context_;
  std::shared_ptr<TlsSessions> sessions_ = std::make_shared<TlsSessions>();
  std::unique_ptr<TlsStream> server_;
  std::unique_ptr<TlsStream> client_;
  error_code server_failed_;
  error_code client_failed_;
};

test::Certificates* TlsStreamTest::made_ = nullptr;

TEST_F(TlsStreamTest, ManyBytesGoThroughAndTheEndIsClean) {
  connect();
  handshake();
  ASSERT_FALSE(client_failed_) << client_failed_.message();
  ASSERT_FALSE(server_failed_) << server_failed_.message();
  EXPECT_EQ(server_->version(), TlsVersion::tls1_3);
  std::string sent(5'000'000, 'x');
  for (std::size_t n = 0; n < sent.size(); n += 97) sent[n] = static_cast<char>(n);
  std::string got;
  error_code end = TlsError::internal;
  bool read = false;
  bool written = false;
  boost::asio::co_spawn(io_, write_all(*server_, sent, written), boost::asio::detached);
  boost::asio::co_spawn(io_, read_all(*client_, got, end, read), boost::asio::detached);
  while (!read) io_.run_one();
  EXPECT_TRUE(written);
  EXPECT_FALSE(end) << end.message();
  EXPECT_EQ(got.size(), sent.size());
  EXPECT_TRUE(got == sent);
}

TEST_F(TlsStreamTest, NothingIsConfirmedThatMayStillBeLost) {
  connect();
  handshake();
  const std::string block(1 << 20, 'y');
  std::size_t taken = 0;
  for (auto more = server_->try_write(block); *more > 0; more = server_->try_write(block)) taken += *more;
  EXPECT_FALSE(server_->may_write());
  std::string got;
  error_code end;
  bool read = false;
  bool written = false;
  boost::asio::co_spawn(io_, read_all(*client_, got, end, read), boost::asio::detached);
  boost::asio::co_spawn(io_, write_all(*server_, "y", written), boost::asio::detached);
  while (!read) io_.run_one();
  EXPECT_EQ(got.size(), taken + 1);
}

TEST_F(TlsStreamTest, AnEndWithoutCloseNotifyIsNoEnd) {
  connect();
  handshake();
  ASSERT_TRUE(server_->try_write("half"));
  ::shutdown(server_->descriptor(), SHUT_WR);
  std::string got;
  error_code end;
  bool read = false;
  boost::asio::co_spawn(io_, read_all(*client_, got, end, read), boost::asio::detached);
  while (!read) io_.run_one();
  EXPECT_EQ(got, "half");
  EXPECT_EQ(end, TlsError::truncated);
}

TEST_F(TlsStreamTest, ClosingSaysSo) {
  connect();
  handshake();
  ASSERT_TRUE(client_->try_write("request"));
  server_->close();
  std::string got;
  error_code end = TlsError::internal;
  bool read = false;
  boost::asio::co_spawn(io_, read_all(*client_, got, end, read), boost::asio::detached);
  while (!read) io_.run_one();
  EXPECT_FALSE(end) << end.message();
}

TEST_F(TlsStreamTest, TicketsAreNoBytesOfThePeers) {
  connect();
  handshake();
  EXPECT_FALSE(client_->has_unread_bytes());
  ASSERT_TRUE(server_->try_write("z"));
  EXPECT_TRUE(client_->has_unread_bytes());
  EXPECT_TRUE(client_->may_read());
  char byte = 0;
  EXPECT_EQ(*client_->try_read({&byte, 1}), 1u);
  EXPECT_EQ(byte, 'z');
  EXPECT_FALSE(client_->has_unread_bytes());
  server_->close();
  EXPECT_TRUE(client_->has_unread_bytes());
}

TEST_F(TlsStreamTest, ASecondConnectionResumesAlsoUnderANewContext) {
  connect();
  handshake();
  EXPECT_FALSE(client_->has_unread_bytes());  // takes the ticket in
  connect();
  handshake();
  EXPECT_TRUE(client_->resumed());
  EXPECT_TRUE(server_->resumed());
}

TEST_F(TlsStreamTest, AClientUnderOtherRulesDoesNotResume) {
  connect();
  handshake();
  EXPECT_FALSE(client_->has_unread_bytes());
  client_context_ = nullptr;
  connect();
  handshake();
  EXPECT_FALSE(client_->resumed());
  EXPECT_FALSE(client_failed_);
}

TEST_F(TlsStreamTest, AServerUnderOtherRulesDoesNotResume) {
  connect();
  handshake();
  EXPECT_FALSE(client_->has_unread_bytes());
  server_options_.client_certificate = Ask::required;
  server_options_.client_ca = made_->read("ca.pem");
  connect();
  handshake();
  EXPECT_EQ(server_failed_, TlsError::certificate_missing);
}

TEST_F(TlsStreamTest, TheNameIsChecked) {
  connect("other.test");
  handshake();
  EXPECT_EQ(client_failed_, TlsError::certificate_name);
  EXPECT_EQ(server_failed_, TlsError::alert);
  connect("127.0.0.1");
  handshake();
  EXPECT_FALSE(client_failed_) << client_failed_.message();
  connect("127.0.0.2");
  handshake();
  EXPECT_EQ(client_failed_, TlsError::certificate_name);
}

TEST_F(TlsStreamTest, AStatedNameReplacesTheHost) {
  client_options_.server_name = "server.test";
  connect("10.0.0.1");
  handshake();
  EXPECT_FALSE(client_failed_) << client_failed_.message();
}

TEST_F(TlsStreamTest, TheChainIsChecked) {
  server_options_.certificates = {made_->load("lonely")};
  connect();
  handshake();
  EXPECT_EQ(client_failed_, TlsError::certificate_self_signed);
  client_options_.verify = TlsClientOptions::Verify::off;
  client_context_ = nullptr;
  connect();
  handshake();
  EXPECT_FALSE(client_failed_);
}

TEST_F(TlsStreamTest, TheSystemsAuthoritiesAreTheDefault) {
  client_options_.ca = {};
  connect();
  handshake();
  EXPECT_EQ(client_failed_, TlsError::certificate_untrusted);
}

TEST_F(TlsStreamTest, AVerifiedClientIsDescribedAlsoWhenItResumes) {
  server_options_.client_certificate = Ask::optional;
  server_options_.client_ca = made_->read("ca.pem");
  client_options_.certificate = made_->load("client");
  connect();
  handshake();
  ASSERT_NE(server_->peer(), nullptr);
  EXPECT_EQ(server_->peer()->common_name, "client");
  EXPECT_FALSE(client_->has_unread_bytes());
  connect();
  handshake();
  EXPECT_TRUE(server_->resumed());
  ASSERT_NE(server_->peer(), nullptr);
  EXPECT_EQ(server_->peer()->san_uri, "spiffe://weir/client");
}

TEST_F(TlsStreamTest, AClientThatIsNotTrustedIsRefusedAndOneWithoutMayPassIfOptional) {
  server_options_.client_certificate = Ask::optional;
  server_options_.client_ca = made_->read("ca.pem");
  connect();
  handshake();
  EXPECT_FALSE(server_failed_);
  EXPECT_EQ(server_->peer(), nullptr);
  client_options_.certificate = made_->load("lonely");
  client_context_ = nullptr;
  connect();
  handshake();
  EXPECT_EQ(server_failed_, TlsError::certificate_self_signed);
  EXPECT_EQ(server_->peer(), nullptr);
}

TEST_F(TlsStreamTest, APeerThatSaysNothingIsLeftAtTheDeadline) {
  connect();
  error_code failed;
  bool ended = false;
  const auto silent = [](TlsStream& stream, error_code& why, bool& over) -> awaitable<void> {
    const std::int64_t until = stream.loop().now_ms() + 100;
    const Result<void> done = co_await stream.handshake(until);
    why = done ? error_code() : done.error();
    over = true;
  };
  boost::asio::co_spawn(io_, silent(*server_, failed, ended), boost::asio::detached);
  while (!ended) io_.run_one();
  EXPECT_EQ(failed, TlsError::timeout);
}

TEST_F(TlsStreamTest, PlainHttpIsAnsweredWithAnAlert) {
  connect();
  int running = 1;
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_EQ(::send(client_->descriptor(), request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  boost::asio::co_spawn(io_, shake(*server_, server_failed_, running), boost::asio::detached);
  while (running > 0) io_.run_one();
  EXPECT_EQ(server_failed_, TlsError::plain_text);
  char answer[16];
  EXPECT_EQ(::recv(client_->descriptor(), answer, sizeof answer, 0), 7);
  EXPECT_EQ(answer[0], 0x15);
}

TEST_F(TlsStreamTest, AHandshakeThatIsCutIsClosed) {
  connect();
  ::shutdown(client_->descriptor(), SHUT_WR);
  int running = 1;
  boost::asio::co_spawn(io_, shake(*server_, server_failed_, running), boost::asio::detached);
  while (running > 0) io_.run_one();
  EXPECT_EQ(server_failed_, TlsError::closed);
}

}  // namespace
}  // namespace weir::net
