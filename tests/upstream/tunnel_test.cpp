// SPDX-License-Identifier: Apache-2.0
// What goes through a tunnel, and in which order.
#include "upstream/tunnel_fixture.hpp"

namespace weir::upstream {
namespace {

TEST_F(TunnelTest, BytesPassBothWaysAndAreCounted) {
  std::string head;
  EchoUpstream upstream([&head](Wire& wire, Request& request) {
    head = request.head;
    return echo(wire, request);
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(kUpgrade));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.field("Upgrade"), "websocket");
  EXPECT_EQ(answer.field("Connection"), "Upgrade");
  EXPECT_EQ(answer.field("Sec-WebSocket-Accept"), "x");
  EXPECT_EQ(answer.field("X-Request-Id"), "7");
  EXPECT_EQ(answer.field("X-Cost"), "");
  EXPECT_EQ(answer.field("Content-Length"), "");
  for (int n = 0; n < 100; ++n) {
    const std::string frame = "frame " + std::to_string(n);
    ASSERT_TRUE(client.send(frame));
    ASSERT_EQ(read_exactly(client, frame.size()), frame);
  }
  EXPECT_EQ(open_tunnels(), 1);
  EXPECT_EQ(handler().count(), 0U);  // one exchange, as long as the tunnel
  client.close();
  EXPECT_EQ(ending(), http::Ending::complete);
  EXPECT_TRUE(eventually([&] { return open_tunnels() == 0 && upstream.open() == 0; }));
  EXPECT_NE(head.find("Connection: Upgrade\r\nUpgrade: websocket\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("keep-alive"), std::string::npos);
  const auto facts = handler().last_facts();
  EXPECT_EQ(facts.status, 101);
  EXPECT_EQ(facts.bytes_in, 10 * 7 + 90 * 8U);
  EXPECT_EQ(facts.bytes_out, facts.bytes_in);
  EXPECT_EQ(handler().last().error, ForwardError::none);
  EXPECT_EQ(handler().last().upstream_status, 101);
  EXPECT_EQ(handler().last().cost_header, 3U);
}

TEST_F(TunnelTest, WhatCameBehindTheHeadsGoesFirst) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    if (!wire.send(kSwitched + "early upstream,")) return false;
    std::string got;
    while (got.size() < 17) got += wire.read_some();
    return wire.send(got) && false;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(kUpgrade + "early client,"));
  EXPECT_EQ(client.read().status, 101);
  ASSERT_TRUE(client.send("late"));
  EXPECT_EQ(read_exactly(client, 32), "early upstream,early client,late");
}

TEST_F(TunnelTest, AHeadInPiecesIsTheSame) {
  EchoUpstream upstream([](Wire& wire, Request& request) {
    for (const char c : kSwitched) {
      if (!wire.send({&c, 1})) return false;
    }
    return wire.send("then") && echo(wire, request);
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(kUpgrade));
  EXPECT_EQ(client.read().status, 101);
  EXPECT_EQ(read_exactly(client, 4), "then");
}

TEST_F(TunnelTest, TheEndOfOneWayLeavesTheOtherOpen) {
  EchoUpstream upstream([](Wire& wire, Request&) {
    if (!wire.send(kSwitched)) return false;
    std::string all;
    for (std::string piece = wire.read_some(); !piece.empty(); piece = wire.read_some()) all += piece;
    std::this_thread::sleep_for(50ms);
    return wire.send("got " + all) && false;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(kUpgrade));
  EXPECT_EQ(client.read().status, 101);
  ASSERT_TRUE(client.send("all of it"));
  client.half_close();
  EXPECT_EQ(read_exactly(client, 100), "got all of it");
  EXPECT_FALSE(client.was_reset());
  EXPECT_EQ(ending(), http::Ending::complete);
}

TEST_F(TunnelTest, TheUpstreamMayEndFirst) {
  std::atomic<std::size_t> received{0};
  EchoUpstream upstream([&received](Wire& wire, Request&) {
    if (!wire.send(kSwitched + "bye")) return false;
    wire.half_close();
    for (std::string piece = wire.read_some(); !piece.empty(); piece = wire.read_some())
      received += piece.size();
    return false;
  });
  start({upstream.port()});
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(kUpgrade));
  EXPECT_EQ(client.read().status, 101);
  EXPECT_EQ(read_exactly(client, 100), "bye");  // and the end
  ASSERT_TRUE(client.send("still talking"));
  EXPECT_TRUE(eventually([&] { return received == 13U; }));
  client.close();
  EXPECT_EQ(ending(), http::Ending::complete);
}

TEST_F(TunnelTest, ASlowReaderHoldsUpNeitherTheOtherWayNorMemory) {
  constexpr std::size_t kSize = 64 << 20;
  std::atomic<std::size_t> received{0};
  EchoUpstream upstream([&received](Wire& wire, Request&) {
    if (!wire.send(kSwitched)) return false;
    std::thread sender([&wire] {
      const std::string block(65536, 'y');
      for (std::size_t sent = 0; sent < kSize; sent += block.size()) {
        if (!wire.send(block)) return;
      }
      wire.half_close();
    });
    for (std::string piece = wire.read_some(); !piece.empty(); piece = wire.read_some())
      received += piece.size();
    sender.join();
    return false;
  });
  start({upstream.port()});
  RawClient client(worker_->port(), 16 * 1024);
  const long before = resident_kib();
  ASSERT_TRUE(client.send(kUpgrade));
  EXPECT_EQ(client.read().status, 101);
  // The client reads nothing while it sends: the other way must not wait for it.
  const std::string block(65536, 'x');
  for (std::size_t sent = 0; sent < kSize; sent += block.size()) ASSERT_TRUE(client.send(block));
  EXPECT_TRUE(eventually([&] { return received == kSize; }));
  EXPECT_LT(resident_kib() - before, kGrowthKib);
  std::size_t got = 0;
  for (std::string piece = client.read_some(65536); !piece.empty(); piece = client.read_some(65536)) {
    got += piece.size();
  }
  EXPECT_EQ(got, kSize);
  client.close();
  EXPECT_EQ(ending(), http::Ending::complete);
  EXPECT_EQ(handler().last_facts().bytes_in, kSize);
  EXPECT_EQ(handler().last_facts().bytes_out, kSize);
}

}  // namespace
}  // namespace weir::upstream
