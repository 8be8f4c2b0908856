// SPDX-License-Identifier: Apache-2.0
// A client and an upstream that switch to WebSocket through the data path.
#pragma once

#include "upstream/forward_fixture.hpp"

namespace weir::upstream {
namespace {

const std::string kUpgrade =
    "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n\r\n";
const std::string kSwitched =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: x\r\nX-Cost: 3\r\n\r\n";

class TunnelTest : public ForwardTest {
 protected:
  // Answers 101, then sends back whatever comes until it ends.
  static bool echo(Wire& wire, Request&) {
    if (!wire.send(kSwitched)) return false;
    for (std::string piece = wire.read_some(); !piece.empty(); piece = wire.read_some()) {
      if (!wire.send(piece)) return false;
    }
    return false;
  }
  std::int64_t open_tunnels() { return worker_->server().stats().open_tunnels; }
  http::Ending ending() {
    EXPECT_TRUE(eventually([this] { return handler().count() > 0; }));
    return handler().last_facts().ending;
  }
  static std::string read_exactly(RawClient& client, std::size_t size) {
    std::string all;
    while (all.size() < size) {
      const std::string piece = client.read_some(size - all.size());
      if (piece.empty()) break;
      all += piece;
    }
    return all;
  }
};

}  // namespace
}  // namespace weir::upstream
