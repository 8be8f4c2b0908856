// SPDX-License-Identifier: Apache-2.0
// What is forwarded, both ways, when all is well.
#include "upstream/forward_fixture.hpp"

namespace weir::upstream {
namespace {

TEST_F(ForwardTest, ForwardsOverOneKeptConnection) {
  EchoUpstream upstream;
  start({upstream.port()});
  RawClient client(worker_->port());
  for (int n = 1; n <= 5; ++n) {
    ASSERT_TRUE(client.send(get("/a?b=" + std::to_string(n))));
    const auto answer = client.read();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("X-Served"), std::to_string(n));
    EXPECT_EQ(answer.field("X-Request-Id"), "7");
    EXPECT_NE(answer.body.find("GET /a?b=" + std::to_string(n) + " HTTP/1.1\r\nHost: a.test\r\n"),
              std::string::npos);
    EXPECT_NE(answer.body.find("X-Forwarded-For: 1.2.3.4\r\n"), std::string::npos);
    EXPECT_NE(answer.body.find("Via: 1.1 weir\r\n"), std::string::npos);
  }
  EXPECT_EQ(upstream.connections(), 1);
  ASSERT_TRUE(eventually([this] { return handler().count() == 5; }));
  EXPECT_EQ(handler().last().endpoint, "127.0.0.1:" + std::to_string(upstream.port()));
  EXPECT_EQ(handler().last().upstream_status, 200);
  EXPECT_EQ(handler().last().attempts, 1);
}

TEST_F(ForwardTest, OptionsThatMayGoNoFurtherAreAnsweredHere) {
  EchoUpstream upstream;
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n"));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Content-Length"), "0");
  EXPECT_EQ(answer.field("X-Request-Id"), "7");
  EXPECT_EQ(upstream.requests(), 0);
  ASSERT_TRUE(client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 1\r\n\r\n"));
  EXPECT_NE(client.read().body.find("Max-Forwards: 0\r\n"), std::string::npos);
}

TEST_F(ForwardTest, PipelinedRequestsAreAnsweredInOrder) {
  EchoUpstream upstream;
  start({upstream.port()});
  RawClient client(worker_->port());
  std::string pipeline;
  for (int n = 0; n < 20; ++n)
    pipeline += n % 2 == 0 ? get("/" + std::to_string(n)) : post("body " + std::to_string(n));
  ASSERT_TRUE(client.send(pipeline));
  for (int n = 0; n < 20; ++n) {
    const std::string body = client.read().body;
    const std::string wanted = n % 2 == 0 ? "GET /" + std::to_string(n) + " " : "body " + std::to_string(n);
    EXPECT_TRUE(body.starts_with(wanted)) << body;
  }
}

TEST_F(ForwardTest, BodiesAreChunkedBothWays) {
  EchoUpstream upstream([](Wire& wire, Request& request) {
    if (!wire.read_body(request)) return false;
    return wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\n" +
                     request.body.substr(0, 5) + "\r\n") &&
           wire.send("3\r\n" + request.body.substr(5) + "\r\n0\r\nX-Trailer: t\r\n\r\n");
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4;e\r\nabcd\r\n"));
  std::this_thread::sleep_for(20ms);
  ASSERT_TRUE(client.send("4\r\nefgh\r\n0\r\nX-Evil: t\r\n\r\n"));
  const auto answer = client.read();
  EXPECT_EQ(answer.body, "abcdefgh");
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.field("Transfer-Encoding"), "chunked");
  ASSERT_TRUE(eventually([&] { return upstream.seen().size() == 1; }));
  EXPECT_EQ(upstream.seen().at(0).field("Transfer-Encoding"), "chunked");
  EXPECT_EQ(upstream.seen().at(0).field("X-Evil"), "");
}

TEST_F(ForwardTest, SixtyFourMebibytesPassBothWaysInBoundedMemory) {
  constexpr std::size_t kSize = 64 << 20;
  // An upstream that keeps nothing: it counts, and answers with as much.
  std::atomic<std::size_t> received{0};
  EchoUpstream upstream([&received](Wire& wire, Request&) {
    while (received < kSize) {
      const std::string piece = wire.read_some();
      if (piece.empty()) return false;
      received += piece.size();
    }
    if (!wire.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kSize) + "\r\n\r\n")) return false;
    const std::string block(65536, 'y');
    for (std::size_t sent = 0; sent < kSize; sent += block.size()) {
      if (!wire.send(block)) return false;
    }
    return true;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  const long before = resident_kib();
  ASSERT_TRUE(
      client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kSize) + "\r\n\r\n"));
  const std::string block(65536, 'x');
  for (std::size_t sent = 0; sent < kSize; sent += block.size()) ASSERT_TRUE(client.send(block));
  std::size_t got = 0;
  std::string head;
  for (std::string piece = client.read_some(65536); !piece.empty(); piece = client.read_some(65536)) {
    got += piece.size();
    if (head.size() < 1000) head += piece.substr(0, 1000);
    if (got >= kSize + head.find("\r\n\r\n") + 4) break;
  }
  EXPECT_EQ(received, kSize);
  EXPECT_EQ(got, kSize + head.find("\r\n\r\n") + 4);
  EXPECT_LT(resident_kib() - before, kGrowthKib);
}

TEST_F(ForwardTest, ASlowReaderStopsTheUpstream) {
  std::atomic<std::size_t> sent{0};
  EchoUpstream upstream([&sent](Wire& wire, Request&) {
    if (!wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")) return false;
    const std::string block(65536, 'y');
    while (sent < 100000000u && wire.send(block)) sent += block.size();
    return false;
  });
  start({upstream.port()});
  RawClient client(worker_->port(), 4096);
  ASSERT_TRUE(client.send(get()));
  EXPECT_FALSE(client.read_some(100).empty());
  std::size_t last = 0;
  EXPECT_TRUE(eventually([&] {
    const std::size_t now = sent;
    std::this_thread::sleep_for(200ms);
    return std::exchange(last, now) == now;
  }));
  EXPECT_LT(sent, 50000000u);
  client.reset();
  EXPECT_TRUE(eventually([&] { return upstream.open() == 0; }));
  EXPECT_EQ(last_error(), ForwardError::client_gone);
}

TEST_F(ForwardTest, AClientThatLeavesCancelsTheUpstreamRequest) {
  EchoUpstream upstream([](Wire& wire, Request&) { return !wire.read_some().empty(); });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  ASSERT_TRUE(eventually([&] { return upstream.requests() == 1; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return upstream.open() == 0; }));
  EXPECT_EQ(last_error(), ForwardError::client_gone);
}

TEST_F(ForwardTest, AHalfClosedClientStillGetsAQuickAnswer) {
  EchoUpstream upstream;
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  client.half_close();
  EXPECT_EQ(client.read().status, 200);
  EXPECT_TRUE(client.closed_within(3000));
}

TEST_F(ForwardTest, AHalfClosedClientMayReadALongAnswer) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    wire.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
    std::this_thread::sleep_for(std::chrono::milliseconds(http::Exchange::kHalfCloseGraceMs + 500));
    return wire.send("cd");
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  client.half_close();
  EXPECT_EQ(client.read().body, "abcd");
}

TEST_F(ForwardTest, HeadAndBodilessAnswersKeepTheConnection) {
  EchoUpstream upstream([](Wire& wire, Request& request) {
    if (request.method() == "HEAD") return wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    const bool empty = request.head.starts_with("GET /204");
    return wire.send(empty ? "HTTP/1.1 204 No Content\r\n\r\n"
                           : "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(client.read(RawClient::Request::head).field("Content-Length"), "1000");
  ASSERT_TRUE(client.send(get("/204")));
  const auto none = client.read();
  EXPECT_EQ(none.status, 204);
  EXPECT_EQ(none.field("Content-Length"), "");
  ASSERT_TRUE(client.send(get("/304")));
  EXPECT_EQ(client.read().field("Content-Length"), "9");
  ASSERT_TRUE(client.send(get("/204")));
  EXPECT_EQ(client.read().status, 204);
  EXPECT_EQ(upstream.connections(), 1);
}

TEST_F(ForwardTest, AnswersUntilCloseAreFramedAnew) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    wire.send("HTTP/1.0 200 OK\r\n\r\nto the end");
    return false;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  const auto modern = client.read();
  EXPECT_EQ(modern.body, "to the end");
  EXPECT_EQ(modern.field("Transfer-Encoding"), "chunked");
  ASSERT_TRUE(client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  const auto old = client.read();
  EXPECT_EQ(old.body, "to the end");
  EXPECT_EQ(old.field("Connection"), "close");
}

TEST_F(ForwardTest, InterimAnswersReachNewClientsOnlyAndAreBounded) {
  EchoUpstream upstream([](Wire& wire, Request& request) {
    if (request.head.starts_with("GET /many")) {
      std::string many;
      for (int n = 0; n < 3000; ++n) many += "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n";
      return wire.send(many + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
    return wire.send(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\nConnection: x\r\nX: y\r\n\r\n"
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  const auto hint = client.read();
  EXPECT_EQ(hint.status, 103);
  EXPECT_EQ(hint.field("Link"), "<a>");
  EXPECT_EQ(hint.field("X"), "");
  EXPECT_EQ(client.read().status, 103);
  EXPECT_EQ(client.read().body, "ok");
  ASSERT_TRUE(client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_EQ(client.read().status, 200);
  RawClient flooded(worker_->port());
  ASSERT_TRUE(flooded.send(get("/many")));
  int status = 103;
  for (int n = 0; status == 103 && n < 3000; ++n) status = flooded.read().status;
  EXPECT_EQ(status, 502);
}

TEST_F(ForwardTest, ContinueIsAnsweredHereAndNeverSentOn) {
  EchoUpstream upstream;
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read().status, 100);
  ASSERT_TRUE(client.send("hello"));
  EXPECT_EQ(client.read().body, "hello");
  ASSERT_TRUE(eventually([&] { return upstream.seen().size() == 1; }));
  EXPECT_EQ(upstream.seen().at(0).field("Expect"), "");
}

TEST_F(ForwardTest, AnEarlyAnswerIsPassedOnWhileTheBodyStillComes) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    wire.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    while (!wire.read_some().empty()) {
    }
    return false;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc"));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, "no");
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(eventually([&] { return upstream.open() == 0; }));  // not kept for another request
}

TEST_F(ForwardTest, BodiesFlowBothWaysAtOnce) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    std::string got;
    while (got.find("0\r\n\r\n") == std::string::npos) {
      const std::string piece = wire.read_some();
      if (piece.empty()) return false;
      got += piece;
      wire.send("2\r\nok\r\n");
    }
    wire.send("0\r\n\r\n");
    return true;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
  std::string seen;
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(client.send("1\r\nx\r\n"));
    std::string more = client.read_some(1000);
    while (more.find("ok") == std::string::npos) more += client.read_some(1000);
    seen += more;
  }
  ASSERT_TRUE(client.send("0\r\n\r\n"));
  while (!seen.ends_with("0\r\n\r\n")) {
    const std::string piece = client.read_some(1000);
    ASSERT_FALSE(piece.empty()) << seen;
    seen += piece;
  }
  EXPECT_TRUE(seen.starts_with("HTTP/1.1 200 OK\r\n"));
}

}  // namespace
}  // namespace weir::upstream
