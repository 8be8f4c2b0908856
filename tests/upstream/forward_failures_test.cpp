// SPDX-License-Identifier: Apache-2.0
// What the client sees when upstreams fail, close, stall or change.
#include "upstream/forward_fixture.hpp"

namespace weir::upstream {
namespace {

class ForwardFailureTest : public ForwardTest {};

TEST_F(ForwardFailureTest, ADeadPooledConnectionIsReplacedForWhatMayBeRepeated) {
  // Answers once, then closes without a word as soon as the next request has come.
  EchoUpstream upstream(
      [](Wire& wire, Request& request) { return wire.served == 0 && EchoUpstream::answer(wire, request); });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  EXPECT_EQ(client.read().status, 200);
  ASSERT_TRUE(client.send(get("/again")));
  const auto again = client.read();
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.field("X-Served"), "1");
  EXPECT_EQ(upstream.connections(), 2);
  ASSERT_TRUE(eventually([this] { return handler().count() == 2; }));
  EXPECT_EQ(handler().last().attempts, 2);
  ASSERT_TRUE(client.send(post("once")));
  const auto refused = client.read();
  EXPECT_EQ(refused.status, 502);
  EXPECT_EQ(refused.field("Proxy-Status"), "weir; error=http_response_incomplete");
  EXPECT_EQ(refused.field("X-Request-Id"), "7");
  EXPECT_EQ(upstream.requests(), 4);  // the POST was sent once
}

TEST_F(ForwardFailureTest, APooledConnectionThatClosesIsNoticedWhileIdle) {
  EchoUpstream upstream([](Wire& wire, Request& request) {
    EchoUpstream::answer(wire, request);
    return false;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  EXPECT_EQ(client.read().status, 200);
  ASSERT_TRUE(eventually([&] { return upstream.open() == 0; }));
  ASSERT_TRUE(client.send(post("safe")));
  EXPECT_EQ(client.read().body, "safe");
}

TEST_F(ForwardFailureTest, BytesThatNobodyAskedForEndTheConnection) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    return wire.send(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(client.send(get()));
    EXPECT_EQ(client.read().body, "ok");
  }
  EXPECT_EQ(upstream.connections(), 3);
}

TEST_F(ForwardFailureTest, NoConnectionIs502AndTheOtherEndpointIsTried) {
  EchoUpstream upstream;
  cluster_.balance = Balance::round_robin;
  start({dead_port(), upstream.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 6; ++n) {
    ASSERT_TRUE(client.send(post("x")));
    EXPECT_EQ(client.read().status, 200);
  }
  worker_->run([this] {
    cluster_.endpoints.resize(1);
    handler().forwarders.update({cluster_});
  });
  ASSERT_TRUE(client.send(get()));
  const auto refused = client.read();
  EXPECT_EQ(refused.status, 502);
  EXPECT_EQ(refused.field("Content-Type"), "application/problem+json");
  EXPECT_EQ(refused.field("Proxy-Status"), "weir; error=connection_refused");
  worker_->run([this] {
    cluster_.endpoints.clear();
    handler().forwarders.update({cluster_});
  });
  ASSERT_TRUE(client.send(get()));
  EXPECT_EQ(client.read().status, 503);
}

TEST_F(ForwardFailureTest, ANameIsTriedAtEachOfItsAddresses) {
  EchoUpstream upstream;  // on 127.0.0.1 only, while localhost may be ::1 first
  start({});
  worker_->run([&] {
    cluster_.endpoints = {{"localhost", upstream.port()}};
    handler().forwarders.update({cluster_});
  });
  RawClient client(worker_->port());
  for (int n = 0; n < 4; ++n) {
    ASSERT_TRUE(client.send(post("x")));
    EXPECT_EQ(client.read().status, 200);
  }
}

TEST_F(ForwardFailureTest, NoAnswerInTimeIs504) {
  cluster_.response_timeout = 200ms;
  EchoUpstream upstream([](Wire& wire, Request&) { return !wire.read_some().empty(); });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  EXPECT_EQ(client.read().status, 504);
  EXPECT_EQ(last_error(), ForwardError::response_timeout);
  EXPECT_TRUE(eventually([&] { return upstream.open() == 0; }));
  ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(client.read(RawClient::Request::head).status, 504);
}

TEST_F(ForwardFailureTest, ABacklogThatTakesNobodyIs504) {
  // A listening socket with a full queue accepts no handshake.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::uint16_t port = ntohs(address.sin_port);
  RawClient filler(port);
  cluster_.connect_timeout = 200ms;
  start({port});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  EXPECT_EQ(client.read().status, 504);
  EXPECT_EQ(last_error(), ForwardError::connect_timeout);
  ::close(listener);
}

TEST_F(ForwardFailureTest, TheTotalTimeCutsAnAnswerThatNeverEnds) {
  cluster_.total_timeout = 400ms;
  EchoUpstream upstream([](Wire& wire, Request&) {
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (wire.send("1\r\nx\r\n")) std::this_thread::sleep_for(20ms);
    return false;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_FALSE(answer.complete);
  EXPECT_EQ(last_error(), ForwardError::response_timeout);
}

TEST_F(ForwardFailureTest, BrokenAnswersAre502OrVisiblyCut) {
  EchoUpstream upstream([](Wire& wire, Request& request) {
    if (request.head.starts_with("GET /head")) wire.send("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n");
    if (request.head.starts_with("GET /short")) wire.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    if (request.head.starts_with("GET /chunk"))
      wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    if (request.head.starts_with("GET /reset")) wire.reset();
    if (request.head.starts_with("GET /101")) wire.send("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    return false;
  });
  start({upstream.port()});
  for (const char* path : {"/head", "/reset", "/nothing", "/101"}) {
    RawClient client(worker_->port());
    ASSERT_TRUE(client.send(get(path)));
    EXPECT_EQ(client.read().status, 502) << path;
    ASSERT_TRUE(client.send(get(path)));
    EXPECT_EQ(client.read().status, 502) << path << " on the kept client connection";
  }
  for (const char* path : {"/short", "/chunk"}) {
    RawClient client(worker_->port());
    ASSERT_TRUE(client.send(get(path)));
    EXPECT_FALSE(client.read().complete) << path;
  }
}

TEST_F(ForwardFailureTest, ABrokenRequestBodyIsAnsweredAndTheUpstreamSeesNoEnd) {
  EchoUpstream upstream;
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"));
  ASSERT_TRUE(eventually([&] { return upstream.requests() == 1; }));
  ASSERT_TRUE(client.send("zz\r\n"));
  EXPECT_EQ(client.read().status, 400);
  EXPECT_EQ(last_error(), ForwardError::body_refused);
  EXPECT_TRUE(eventually([&] { return upstream.open() == 0; }));
  EXPECT_TRUE(client.closed_within(5000));
}

TEST_F(ForwardFailureTest, TheCostIsReadAndTakenOut) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    return wire.send("HTTP/1.1 200 OK\r\nX-Cost: 42\r\nContent-Length: 0\r\n\r\n");
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  EXPECT_EQ(client.read().field("X-Cost"), "");
  EXPECT_TRUE(eventually([this] { return handler().count() == 1; }));
  EXPECT_TRUE(handler().last().has_cost_header);
  EXPECT_EQ(handler().last().cost_header, 42u);
}

TEST_F(ForwardFailureTest, AReloadKeepsConnectionsOfEndpointsThatStay) {
  EchoUpstream stays;
  EchoUpstream goes;
  cluster_.balance = Balance::round_robin;
  start({stays.port(), goes.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 4; ++n) {
    ASSERT_TRUE(client.send(get()));
    EXPECT_EQ(client.read().status, 200);
  }
  EXPECT_EQ(stays.connections() + goes.connections(), 2);
  cluster_.endpoints.pop_back();
  cluster_.response_timeout = 5s;
  worker_->run([this] { handler().forwarders.update({cluster_}); });
  EXPECT_TRUE(eventually([&] { return goes.open() == 0; }));
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(client.send(get()));
    EXPECT_EQ(client.read().status, 200);
  }
  EXPECT_EQ(stays.connections(), 1);
  ASSERT_TRUE(eventually([this] { return handler().count() == 7; }));
  std::uint64_t requests = 0;
  handler().forwarders.each_endpoint(
      [&](std::string_view cluster, std::string_view, const EndpointStats& stats) {
        EXPECT_EQ(cluster, "default");
        requests += stats.requests;
        EXPECT_EQ(stats.outstanding, 0);
      });
  EXPECT_EQ(requests, 5u);
}

TEST_F(ForwardFailureTest, StoppingAnswersWhatIsUnderWay) {
  EchoUpstream upstream([](Wire& wire, Request&) { return !wire.read_some().empty(); });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  ASSERT_TRUE(eventually([&] { return upstream.requests() == 1; }));
  worker_->run([this] { handler().forwarders.stop(); });
  EXPECT_EQ(client.read().status, 502);
}

}  // namespace
}  // namespace weir::upstream
