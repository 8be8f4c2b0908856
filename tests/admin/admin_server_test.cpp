// SPDX-License-Identifier: Apache-2.0
// The admin listener over real sockets.
#include "admin/admin_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <random>
#include <thread>

#include "admin/sources.hpp"
#include "weir/base/result.hpp"

namespace weir::admin {
namespace {

using boost::asio::ip::tcp;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Client {
 public:
  explicit Client(const AdminServer& server) : socket_(io_) {
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), server.port()});
  }
  void send(std::string_view text) {
    error_code ignored;  // the server may close in the middle of nonsense
    boost::asio::write(socket_, boost::asio::buffer(text), ignored);
  }
  void finish() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  std::string read_to_end() {
    std::string text;
    error_code end;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(text), end);
    return text;
  }
  std::string read_some() {
    std::string text(4096, '\0');
    error_code failed;
    text.resize(socket_.read_some(boost::asio::buffer(text), failed));
    return text;
  }

 private:
  boost::asio::io_context io_;
  tcp::socket socket_;
};

std::string ask(const AdminServer& server, std::string_view request) {
  Client client(server);
  client.send(request);
  client.finish();
  return client.read_to_end();
}

AdminOptions any_port(std::string token = "") {
  return {"127.0.0.1", 0, std::move(token)};
}

TEST(AdminServer, AnswersAndKeepsTheConnection) {
  const AdminServer server(any_port(), test::source());
  Client client(server);
  for (int n = 0; n < 3; ++n) {
    client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string reply = client.read_some();
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(reply, EndsWith("\r\n\r\nok\n"));
  }
  client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_to_end(), EndsWith("\r\n\r\nweir_up 1\n"));
}

TEST(AdminServer, HeadHasNoBody) {
  const AdminServer server(any_port(), test::source());
  const std::string reply = ask(server, "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(reply, HasSubstr("Content-Length: 10\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\n"));
}

TEST(AdminServer, NamesWhatIsNeeded) {
  const AdminServer server(any_port("s3cret"), test::source());
  EXPECT_THAT(ask(server, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(ask(server, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer s3cret\r\n\r\n"),
              EndsWith("weir_up 1\n"));
  EXPECT_THAT(ask(server, "POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
              HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST(AdminServer, SaysWhatAPageMayDo) {
  const AdminServer server(any_port(), test::source());
  const std::string reply = ask(server, "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n");
  EXPECT_THAT(reply, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self';"));
  EXPECT_THAT(reply, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(reply, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(reply, HasSubstr("X-Frame-Options: DENY\r\n"));
  EXPECT_THAT(reply, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(reply, HasSubstr("Referrer-Policy: no-referrer\r\n"));
}

TEST(AdminServer, HandsOverTheBodyAndThePeer) {
  const AdminServer server(any_port(), test::source());
  const std::string reply =
      ask(server,
          "POST /counters/reset HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
          "application/json\r\nContent-Length: 29\r\n\r\n{\"layer\":\"user\",\"confirm\":\"\"}");
  EXPECT_THAT(reply, HasSubstr("{\"reset\":\"user\",\"peer\":\"127.0.0.1:"));
}

TEST(AdminServer, ABodyIsBounded) {
  const AdminServer server(any_port(), test::source());
  const std::string head =
      "POST /counters/reset HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  EXPECT_THAT(ask(server, head + "Content-Length: 1000000\r\n\r\n{"), StartsWith("HTTP/1.1 413 "));
  const std::string chunk = "1000\r\n" + std::string(4096, ' ') + "\r\n";
  EXPECT_THAT(ask(server, head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk + "0\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

TEST(AdminServer, PipelinedRequestsAreAnsweredInOrder) {
  const AdminServer server(any_port(), test::source());
  const std::string reply =
      ask(server,
          "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_LT(reply.find("ok\n"), reply.find("edge-1"));
}

TEST(AdminServer, BadInputIsRefusedAndTheNextClientServed) {
  const AdminServer server(any_port(), test::source());
  const std::string large(70000, 'a');
  EXPECT_THAT(ask(server, "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(server, "GET / HTTP/1.1\r\nX: " + large + "\r\n\r\n"), Not(HasSubstr(" 200 ")));
  EXPECT_THAT(ask(server, "GET /" + large + " HTTP/1.1\r\n\r\n"), Not(HasSubstr(" 200 ")));
  EXPECT_THAT(ask(server, "POST /livez HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"), Not(HasSubstr(" 200 ")));
  EXPECT_THAT(
      ask(server, "GET /livez HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + large + "\r\n\r\n"),
      Not(HasSubstr(" 200 ")));
  EXPECT_THAT(ask(server, std::string("\x16\x03\x01\x00\xff", 5)), Not(HasSubstr(" 200 ")));
  EXPECT_EQ(ask(server, ""), "");
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::string noise = round % 2 == 0 ? "GET / HTTP/1.1\r\n" : "";
    for (std::size_t n = random() % 200; n > 0; --n) noise += static_cast<char>(random());
    ask(server, noise + "\r\n\r\n");
  }
  EXPECT_THAT(ask(server, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), EndsWith("ok\n"));
}

TEST(AdminServer, ConnectionsAreBounded) {
  const AdminServer server(any_port(), test::source());
  {
    std::vector<std::unique_ptr<Client>> idle;
    for (int n = 0; n < 64; ++n) {
      idle.push_back(std::make_unique<Client>(server));
      idle.back()->send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
      EXPECT_THAT(idle.back()->read_some(), HasSubstr(" 200 "));
    }
    EXPECT_THAT(ask(server, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), Not(HasSubstr(" 200 ")));
  }
  // Once they have left, others are served. The server notices when it next looks at their sockets.
  std::string reply;
  for (int n = 0; n < 500 && reply.empty(); ++n) {
    reply = ask(server, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (reply.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(reply, HasSubstr(" 200 "));
}

TEST(AdminServer, ReportsAPortThatIsTaken) {
  const AdminServer first(any_port(), test::source());
  EXPECT_THROW(AdminServer({"127.0.0.1", first.port(), ""}, test::source()), boost::system::system_error);
  EXPECT_THROW(AdminServer({"no address", 0, ""}, test::source()), boost::system::system_error);
}

TEST(AdminServer, StopsWithClientsConnected) {
  AdminServer server(any_port(), test::source());
  Client client(server);
  client.send("GET /livez HTTP/1.1\r\n");
  server.stop();
  server.stop();
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_THROW(Client{server}, boost::system::system_error);
}

}  // namespace
}  // namespace weir::admin
