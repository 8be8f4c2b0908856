// SPDX-License-Identifier: Apache-2.0
// How tunnels end, what keeps them, and what never becomes one.
#include "upstream/tunnel_fixture.hpp"

namespace weir::upstream {
namespace {

class TunnelEndTest : public TunnelTest {
 protected:
  // A client whose tunnel is open.
  std::unique_ptr<RawClient> open() {
    auto client = std::make_unique<RawClient>(worker_->port());
    EXPECT_TRUE(client->send(kUpgrade));
    EXPECT_EQ(client->read().status, 101);
    return client;
  }
  bool echoes(RawClient& client) { return client.send("hello") && read_exactly(client, 5) == "hello"; }
};

TEST_F(TunnelEndTest, NothingMovingForTooLongClosesBothEnds) {
  server_.tunnel_idle_timeout = 400ms;
  EchoUpstream upstream(echo);
  start({upstream.port()});
  const auto client = open();
  for (int n = 0; n < 4; ++n) {
    std::this_thread::sleep_for(200ms);
    ASSERT_TRUE(echoes(*client));  // 0.8 s, but never idle
  }
  EXPECT_TRUE(client->closed_within(3000));
  EXPECT_TRUE(eventually([&] { return upstream.open() == 0; }));
  EXPECT_EQ(ending(), http::Ending::timed_out);
}

TEST_F(TunnelEndTest, OtherTimeLimitsEndWithTheHandshake) {
  server_.total_timeout = 300ms;
  server_.body_idle_timeout = 100ms;
  cluster_.total_timeout = 300ms;
  cluster_.idle_timeout = 100ms;
  EchoUpstream upstream(echo);
  start({upstream.port()});
  const auto client = open();
  std::this_thread::sleep_for(700ms);
  EXPECT_TRUE(echoes(*client));
}

TEST_F(TunnelEndTest, AResetOfTheClientReachesTheUpstream) {
  EchoUpstream upstream(echo);
  start({upstream.port()});
  const auto client = open();
  ASSERT_TRUE(echoes(*client));
  client->reset();
  EXPECT_TRUE(eventually([&] { return upstream.open() == 0; }));
  EXPECT_EQ(ending(), http::Ending::client_gone);
  EXPECT_EQ(last_error(), ForwardError::client_gone);
}

TEST_F(TunnelEndTest, AResetOfTheUpstreamReachesTheClient) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    wire.send(kSwitched);
    wire.read_some();
    wire.reset();
    return false;
  });
  start({upstream.port()});
  const auto client = open();
  ASSERT_TRUE(client->send("x"));
  EXPECT_TRUE(client->closed_within(3000));
  EXPECT_TRUE(client->was_reset());
  EXPECT_EQ(ending(), http::Ending::upstream_failed);
  EXPECT_EQ(last_error(), ForwardError::reset);
}

TEST_F(TunnelEndTest, TunnelsToAnEndpointThatIsGoneEndAfterItsDrainTime) {
  cluster_.drain = 300ms;
  EchoUpstream gone(echo);
  EchoUpstream stays(echo);
  start({gone.port()});
  const auto first = open();
  worker_->run([&] {
    cluster_.endpoints = {{"127.0.0.1", stays.port()}};
    handler().forwarders.update({cluster_});
  });
  const std::string frame("\x82\x81maskx", 7);
  ASSERT_TRUE(first->send(frame));
  ASSERT_EQ(read_exactly(*first, frame.size()), frame);  // not at once
  const auto second = open();
  const std::string told = read_exactly(*first, 4);
  EXPECT_EQ(told, std::string("\x88\x02\x03\xE9", 4));  // a WebSocket's close frame, 1001
  EXPECT_TRUE(first->closed_within(5000));
  EXPECT_TRUE(eventually([&] { return gone.open() == 0; }));
  EXPECT_TRUE(echoes(*second));
}

TEST_F(TunnelEndTest, ReloadsKeepTunnelsAlsoOfEndpointsThatAreGone) {
  EchoUpstream upstream(echo);
  EchoUpstream other;
  start({upstream.port()});
  const auto client = open();
  for (int n = 0; n < 20; ++n) {
    worker_->run([&] { handler().forwarders.update({cluster_}); });
    ASSERT_TRUE(echoes(*client));
  }
  cluster_.endpoints = {{"127.0.0.1", other.port()}};
  worker_->run([&] { handler().forwarders.update({cluster_}); });
  EXPECT_TRUE(echoes(*client));
  worker_->run([&] { handler().forwarders.update({}); });
  EXPECT_TRUE(echoes(*client));
}

TEST_F(TunnelEndTest, DrainingLeavesTunnelsUntilStopped) {
  EchoUpstream upstream(echo);
  start({upstream.port()});
  const auto client = open();
  worker_->run([&] { worker_->server().drain(); });
  std::this_thread::sleep_for(1500ms);  // longer than idle connections are given
  EXPECT_TRUE(echoes(*client));
  EXPECT_FALSE(worker_->server().idle());
  worker_->run([&] { worker_->server().stop(); });
  EXPECT_TRUE(client->closed_within(3000));
  EXPECT_TRUE(eventually([&] { return upstream.open() == 0; }));
  EXPECT_EQ(ending(), http::Ending::aborted);
  EXPECT_TRUE(worker_->server().idle());
}

TEST_F(TunnelEndTest, BothSidesOfAWebSocketAreToldBetweenFramesOnly) {
  std::mutex mutex;
  std::string received;
  EchoUpstream upstream([&](Wire& wire, Request&) {
    if (!wire.send(kSwitched)) return false;
    for (std::string piece = wire.read_some(); !piece.empty(); piece = wire.read_some()) {
      const std::lock_guard lock(mutex);
      received += piece;
      if (!wire.send(piece)) return false;
    }
    return false;
  });
  start({upstream.port()});
  const std::string whole("\x82\x81maskx", 7);
  const std::string half("\x82\x85maskx", 7);
  for (const std::string& sent : {whole, half}) {
    const auto client = open();
    ASSERT_TRUE(client->send(sent));
    ASSERT_EQ(read_exactly(*client, sent.size()), sent);
    worker_->run([&] { handler().forwarders.stop(); });
    EXPECT_EQ(read_exactly(*client, 100), sent == whole ? std::string("\x88\x02\x03\xe9") : "");
    ASSERT_TRUE(eventually([&] { return upstream.open() == 0; }));
    const std::lock_guard lock(mutex);
    const std::string goodbye("\x88\x82\0\0\0\0\x03\xe9", 8);
    EXPECT_EQ(std::exchange(received, ""), sent == whole ? sent + goodbye : sent);
    worker_->run([&] { handler().forwarders.update({cluster_}); });
  }
}

TEST_F(TunnelEndTest, StoppingTheForwardersEndsTunnels) {
  EchoUpstream upstream(echo);
  start({upstream.port()});
  const auto client = open();
  worker_->run([&] { handler().forwarders.stop(); });
  EXPECT_EQ(read_exactly(*client, 100), "\x88\x02\x03\xe9");
  EXPECT_EQ(ending(), http::Ending::aborted);
}

TEST_F(TunnelEndTest, AnythingBut101IsAnOrdinaryAnswer) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    return wire.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(client.send(kUpgrade));
    const auto answer = client.read();
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(answer.body, "no");
    EXPECT_EQ(answer.field("Connection"), "");
  }
  EXPECT_EQ(upstream.connections(), 3);  // such a connection is never used again
  EXPECT_EQ(open_tunnels(), 0);
}

TEST_F(TunnelEndTest, A101ThatNobodyAskedForIsABadResponse) {
  const std::string kOther =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n";
  EchoUpstream upstream([&kOther](Wire& wire, Request& request) {
    return wire.send(request.head.starts_with("GET /ws ") ? kOther : kSwitched);
  });
  start({upstream.port()});
  const auto status_of = [this](const std::string& request) {
    RawClient client(worker_->port());
    EXPECT_TRUE(client.send(request));
    return client.read().status;
  };
  EXPECT_EQ(status_of(get()), 502);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n"), 502);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"), 502);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                      "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"),
            502);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                      "Content-Length: 2\r\n\r\nhi"),
            502);
  EXPECT_EQ(status_of(kUpgrade), 502);
  EXPECT_EQ(open_tunnels(), 0);
}

}  // namespace
}  // namespace weir::upstream
