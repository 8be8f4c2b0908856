// SPDX-License-Identifier: Apache-2.0
// Clients that take their response slowly or not at all.
#include <chrono>
#include <thread>

#include "http/server_fixture.hpp"

namespace weir::http {
namespace {

// Reads some 100 kB/s for `ms`, or until the exchange has timed out.
void dribble(RawClient& client, const TestHandler& handler, int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end &&
         handler.endings[static_cast<int>(Ending::timed_out)] == 0) {
    (void)client.read_some(2048);
    std::this_thread::sleep_for(20ms);
  }
}

TEST_F(ServerTest, AReaderThatStopsIsGivenUpWithBoundedMemory) {
  ServerOptions options;
  options.write_timeout = 300ms;
  TestHandler& handler = start(options);
  RawClient client(worker_->port(), 4096);
  ASSERT_TRUE(client.send("GET /big/100000000 HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_TRUE(test::eventually([&] { return handler.endings[static_cast<int>(Ending::timed_out)] == 1; }));
  EXPECT_LT(handler.appended, 20000000u);  // what the kernel's buffers hold, and one block
  EXPECT_TRUE(test::eventually([this] { return worker_->server().idle(); }));
}

TEST_F(ServerTest, AReaderThatDribblesIsGivenUp) {
  ServerOptions options;
  options.write_timeout = 2000ms;
  options.body_rate_window = 500ms;
  options.response_min_rate = 10000000;
  TestHandler& handler = start(options);
  RawClient client(worker_->port(), 4096);
  ASSERT_TRUE(client.send("GET /big/100000000 HTTP/1.1\r\nHost: a\r\n\r\n"));
  dribble(client, handler, 20000);
  EXPECT_EQ(handler.endings[static_cast<int>(Ending::timed_out)], 1);
}

TEST_F(ServerTest, AReaderAboveTheMinimumIsWaitedFor) {
  ServerOptions options;
  options.write_timeout = 2000ms;
  options.body_rate_window = 500ms;
  options.response_min_rate = 1000;
  TestHandler& handler = start(options);
  RawClient client(worker_->port(), 4096);
  ASSERT_TRUE(client.send("GET /big/100000000 HTTP/1.1\r\nHost: a\r\n\r\n"));
  dribble(client, handler, 5000);
  EXPECT_EQ(handler.endings[static_cast<int>(Ending::timed_out)], 0);
}

}  // namespace
}  // namespace weir::http
