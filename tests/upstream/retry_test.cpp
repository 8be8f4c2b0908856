// SPDX-License-Identifier: Apache-2.0
// Second attempts, connection caps and trailers, over real sockets.
#include "upstream/forward_fixture.hpp"
#include "upstream/trailers.hpp"

namespace weir::upstream {
namespace {

class RetryTest : public ForwardTest {
 protected:
  RetryTest() { cluster_.balance = Balance::round_robin; }
  std::uint64_t retries(RetryReason reason, RetryOutcome outcome) {
    std::uint64_t count = 0;
    handler().forwarders.each_cluster([&](std::string_view, const ClusterStats& stats) {
      count += stats.retries[static_cast<std::size_t>(reason)][static_cast<std::size_t>(outcome)];
    });
    return count;
  }
  // An upstream that answers once `go` is set, and takes one request at a time.
  EchoUpstream::Script once_told(std::atomic<bool>& go) {
    cluster_.cap.max_connections = 1;
    return [&go](Wire& wire, Request& request) {
      while (!go) std::this_thread::sleep_for(5ms);
      return EchoUpstream::answer(wire, request);
    };
  }
  static bool unavailable(Wire& wire, Request&) {
    return wire.send("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
  }
};

TEST_F(RetryTest, AStatusIsAskedAgainElsewhereForWhatMayBeRepeated) {
  EchoUpstream good;
  EchoUpstream bad(unavailable);
  cluster_.retries.attempts = 2;
  cluster_.ejection.failures = 0;
  start({good.port(), bad.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 6; ++n) {
    ASSERT_TRUE(client.send(get()));
    EXPECT_EQ(client.read().status, 200);
  }
  EXPECT_EQ(bad.requests(), 3);
  EXPECT_EQ(good.requests(), 6);
  int refused = 0;
  for (int n = 0; n < 2; ++n) {
    ASSERT_TRUE(client.send(post("x")));
    refused += client.read().status == 503 ? 1 : 0;
  }
  EXPECT_EQ(refused, 1);
  ASSERT_TRUE(eventually([this] { return handler().count() == 8; }));
  EXPECT_EQ(retries(RetryReason::status, RetryOutcome::success), 3U);
}

TEST_F(RetryTest, TheLastAnswerIsTheClients) {
  EchoUpstream one(unavailable);
  EchoUpstream two(unavailable);
  cluster_.retries.attempts = 2;
  start({one.port(), two.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "busy");
  EXPECT_EQ(one.requests() + two.requests(), 2);
}

TEST_F(RetryTest, TheBudgetBoundsWhatAnIllUpstreamGets) {
  EchoUpstream bad(unavailable);
  cluster_.retries.attempts = 2;
  start({bad.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 20; ++n) {
    ASSERT_TRUE(client.send(get()));
    EXPECT_EQ(client.read().status, 503);
  }
  EXPECT_LE(bad.requests(), 24);  // 20 and a fifth of it
  EXPECT_GE(bad.requests(), 22);
  EXPECT_GE(retries(RetryReason::status, RetryOutcome::over_budget), 14U);
}

TEST_F(RetryTest, AFreshConnectionThatDiesIsReplacedOnce) {
  EchoUpstream bad([](Wire& wire, Request&) {
    wire.reset();
    return false;
  });
  EchoUpstream good;
  cluster_.ejection.failures = 0;
  start({good.port(), bad.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 6; ++n) {
    ASSERT_TRUE(client.send(get()));
    EXPECT_EQ(client.read().status, 200);
  }
  EXPECT_EQ(bad.requests(), 3);
  EXPECT_EQ(retries(RetryReason::reset, RetryOutcome::success), 3U);
  worker_->run([this] {
    cluster_.retries.on_reset = false;
    handler().forwarders.update({cluster_});
  });
  int failed = 0;
  for (int n = 0; n < 4; ++n) {
    ASSERT_TRUE(client.send(get()));
    failed += client.read().status == 502 ? 1 : 0;
  }
  EXPECT_EQ(failed, 2);
}

TEST_F(RetryTest, DeadEndpointsEndInAnAnswer) {
  start({dead_port(), dead_port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(get()));
  EXPECT_EQ(client.read().status, 502);
  EXPECT_EQ(handler().last().attempts, 3);
}

TEST_F(RetryTest, AnEndpointThatFailsIsLeftOut) {
  EchoUpstream bad(
      [](Wire& wire, Request&) { return wire.send("HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n"); });
  EchoUpstream good;
  cluster_.ejection.failures = 3;
  cluster_.ejection.time = 600s;
  start({good.port(), bad.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 20; ++n) {
    ASSERT_TRUE(client.send(get()));
    client.read();
  }
  EXPECT_EQ(bad.requests(), 3);
  EXPECT_EQ(good.requests(), 17);
}

TEST_F(RetryTest, WhoFindsNoPlaceWaitsInOrderOrIsTold) {
  std::atomic<bool> go{false};
  EchoUpstream slow(once_told(go));
  cluster_.cap.queue_size = 1;
  cluster_.cap.queue_wait = 20s;
  start({slow.port()});
  RawClient first(worker_->port());
  ASSERT_TRUE(first.send(get()));
  ASSERT_TRUE(eventually([&] { return slow.requests() == 1; }));
  RawClient second(worker_->port());
  ASSERT_TRUE(second.send(get()));
  ASSERT_TRUE(second.quiet_for(50));
  RawClient third(worker_->port());
  ASSERT_TRUE(third.send(get()));
  const auto told = third.read();
  EXPECT_EQ(told.status, 503);
  EXPECT_EQ(told.field("Retry-After"), "1");
  EXPECT_EQ(told.field("Proxy-Status"), "weir; error=connection_limit_reached");
  go = true;
  EXPECT_EQ(first.read().status, 200);
  EXPECT_EQ(second.read().status, 200);
  EXPECT_EQ(slow.connections(), 1);
}

TEST_F(RetryTest, WhoLeavesTheQueueLeavesNothingBehind) {
  std::atomic<bool> go{false};
  EchoUpstream slow(once_told(go));
  cluster_.cap.queue_wait = 300ms;
  start({slow.port()});
  RawClient first(worker_->port());
  ASSERT_TRUE(first.send(get()));
  ASSERT_TRUE(eventually([&] { return slow.requests() == 1; }));
  RawClient late(worker_->port());
  ASSERT_TRUE(late.send(get()));
  EXPECT_EQ(late.read().status, 503);
  {
    RawClient leaves(worker_->port());
    ASSERT_TRUE(leaves.send(get()));
  }
  go = true;
  EXPECT_EQ(first.read().status, 200);
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(late.send(get()));
    EXPECT_EQ(late.read().status, 200);
  }
}

TEST_F(RetryTest, AConnectionServesOnlySoManyRequests) {
  EchoUpstream upstream;
  cluster_.requests_per_connection = 2;
  start({upstream.port()});
  RawClient client(worker_->port());
  for (int n = 0; n < 6; ++n) {
    ASSERT_TRUE(client.send(get()));
    EXPECT_EQ(client.read().status, 200);
  }
  EXPECT_EQ(upstream.connections(), 3);
}

TEST(Trailers, OnlyListedOnesPassAndNeverFraming) {
  std::string out;
  append_trailers(out, "Grpc-Status: 0\r\nHost: evil\r\ngrpc-message:ok\r\nX: y\r\n",
                  {"grpc-status", "grpc-message"});
  EXPECT_EQ(out, "Grpc-Status: 0\r\ngrpc-message:ok\r\n");
  for (const char* name :
       {"host", "content-length", "transfer-encoding", "authorization", "x-forwarded-for"}) {
    EXPECT_TRUE(never_a_trailer(name)) << name;
  }
  EXPECT_FALSE(never_a_trailer("grpc-status"));
}

TEST_F(RetryTest, TrailersPassBothWaysAsTrailers) {
  std::string seen;
  EchoUpstream upstream([&](Wire& wire, Request& request) {
    while (seen.find("\r\n\r\n") == std::string::npos) seen += wire.read_some();
    return wire.send(
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nGrpc-Status: 7\r\nHost: "
               "evil\r\n\r\n") &&
           request.head.empty();
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(
      client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "1\r\nx\r\n0\r\nContent-Digest: d\r\nCookie: c\r\n\r\n"));
  std::string wire;
  for (std::string more = client.read_some(4096);
       !more.empty() && wire.find("\r\n0\r\n") == std::string::npos; more = client.read_some(4096)) {
    wire += more;
    if (wire.ends_with("7\r\n\r\n")) break;
  }
  EXPECT_NE(wire.find("0\r\nGrpc-Status: 7\r\n\r\n"), std::string::npos) << wire;
  EXPECT_EQ(wire.find("evil"), std::string::npos);
  EXPECT_EQ(seen, "1\r\nx\r\n0\r\nContent-Digest: d\r\n\r\n");
}

}  // namespace
}  // namespace weir::upstream
