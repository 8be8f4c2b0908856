// SPDX-License-Identifier: Apache-2.0
#include "http/server_fixture.hpp"

namespace weir::http {
namespace {

TEST_F(ServerTest, KeepsTheConnectionAndAnswersInOrder) {
  start();
  RawClient client(worker_->port());
  for (int n = 0; n < 3; ++n) {
    ASSERT_TRUE(client.send(kGet));
    EXPECT_EQ(client.read().body, "/x");
  }
  std::string pipeline;
  for (int n = 0; n < 50; ++n) pipeline += "GET /" + std::to_string(n) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_TRUE(client.send(pipeline));
  for (int n = 0; n < 50; ++n) EXPECT_EQ(client.read().body, "/" + std::to_string(n));
  EXPECT_EQ(worker_->server().stats().accepted, 1u);
  EXPECT_EQ(worker_->server().stats().requests, 53u);
  client.close();
  EXPECT_TRUE(test::eventually([this] { return worker_->server().idle(); }));
}

TEST_F(ServerTest, ReadsBodiesAtEverySplitAndThenTheNextRequest) {
  start();
  const std::string wire =
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nfghi" +
      kGet;
  RawClient client(worker_->port());
  for (std::size_t cut = 1; cut < wire.size(); cut += 3) {
    ASSERT_TRUE(client.send(wire.substr(0, cut)));
    std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(client.send(wire.substr(cut)));
    ASSERT_EQ(client.read().body, "abcde") << cut;
    ASSERT_EQ(client.read().body, "fghi") << cut;
    ASSERT_EQ(client.read().body, "/x") << cut;
  }
}

TEST_F(ServerTest, AnswersMalformedHeadsAndCloses) {
  TestHandler& handler = start();
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(kGet + "BAD\r\n\r\n" + kGet));
  EXPECT_EQ(client.read().status, 200);
  const auto refusal = client.read();
  EXPECT_EQ(refusal.status, 400);
  EXPECT_EQ(refusal.field("Connection"), "close");
  EXPECT_EQ(refusal.field("Content-Type"), "application/problem+json");
  EXPECT_FALSE(refusal.field("Date").empty());
  EXPECT_TRUE(client.closed_within(3000));
  EXPECT_EQ(handler.refused_status, 400);
  EXPECT_EQ(worker_->server().stats().malformed, 1u);
}

TEST_F(ServerTest, AHeadThatDribblesGets408WithinItsTime) {
  ServerOptions options;
  options.header_timeout = 300ms;
  TestHandler& handler = start(options);
  RawClient client(worker_->port());
  const auto began = std::chrono::steady_clock::now();
  for (int n = 0; n < 20 && client.send(n == 0 ? "GET / HTTP/1.1\r\n" : "X: y\r\n"); ++n)
    std::this_thread::sleep_for(40ms);
  EXPECT_EQ(client.read().status, 408);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  EXPECT_EQ(handler.refused_status, 408);
}

TEST_F(ServerTest, AnIdleConnectionIsClosedQuietly) {
  ServerOptions options;
  options.keep_alive_timeout = 200ms;
  start(options);
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send(kGet));
  EXPECT_EQ(client.read().status, 200);
  EXPECT_TRUE(client.quiet_for(100));
  EXPECT_TRUE(client.closed_within(3000));
}

TEST_F(ServerTest, ABodyThatStopsGets408) {
  ServerOptions options;
  options.body_idle_timeout = 200ms;
  TestHandler& handler = start(options);
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_EQ(client.read().status, 408);
  EXPECT_TRUE(client.closed_within(5000));
  EXPECT_EQ(handler.endings[static_cast<int>(Ending::timed_out)], 2);
}

TEST_F(ServerTest, ABodyThatDribblesGets408) {
  ServerOptions options;
  options.body_idle_timeout = 300ms;
  options.body_rate_window = 500ms;
  options.body_min_rate = 1000;
  start(options);
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"));
  for (int n = 0; n < 90 && client.quiet_for(50); ++n) ASSERT_TRUE(client.send("x"));  // never idle
  EXPECT_EQ(client.read().status, 408);

  // As slow, but above the minimum.
  options.body_min_rate = 10;
  start(options);
  RawClient patient(worker_->port());
  ASSERT_TRUE(patient.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n"));
  for (int n = 0; n < 30; ++n) {
    ASSERT_TRUE(patient.quiet_for(40));
    ASSERT_TRUE(patient.send("x"));
  }
  EXPECT_EQ(patient.read().status, 200);
}

TEST_F(ServerTest, TheWholeExchangeHasALimit) {
  ServerOptions options;
  options.total_timeout = 300ms;
  TestHandler& handler = start(options);
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(client.read().status, 0);
  EXPECT_EQ(handler.canceled, 1);
  EXPECT_EQ(handler.endings[static_cast<int>(Ending::timed_out)], 1);
}

TEST_F(ServerTest, BodiesAboveTheLimitGet413FromTheLengthAndByCount) {
  ServerOptions options;
  options.body_bytes = 1000;
  start(options);
  RawClient declared(worker_->port());
  ASSERT_TRUE(declared.send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n"));
  EXPECT_EQ(declared.read().status, 413);
  RawClient counted(worker_->port());
  ASSERT_TRUE(counted.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n200\r\n" +
                           std::string(512, 'a') + "\r\n200\r\n" + std::string(512, 'a') + "\r\n"));
  EXPECT_EQ(counted.read().status, 413);
  EXPECT_TRUE(counted.closed_within(5000));
}

TEST_F(ServerTest, ARefusalReachesAClientThatIsStillSending) {
  start();
  RawClient client(worker_->port());
  const std::string body(8 << 20, 'x');
  ASSERT_TRUE(client.send(
      "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n"));
  (void)client.send(body.substr(0, 600000));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, "no");
  EXPECT_EQ(answer.field("Connection"), "close");
}

// A client that writes all before it reads, and then takes its time: the answer came long before the reset.
TEST_F(ServerTest, ARefusalReachesAClientThatReadsLate) {
  start();
  RawClient client(worker_->port());
  const std::string body(10 << 20, 'x');
  (void)client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
                    "\r\n\r\n" + body);
  EXPECT_TRUE(test::eventually([this] { return worker_->server().idle(); }));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, "no");
  EXPECT_TRUE(answer.complete);
}

TEST_F(ServerTest, AShortRestOfTheBodyIsReadAndTheConnectionKept) {
  start();
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_EQ(client.read().status, 403);
  ASSERT_TRUE(client.send("defghij" + kGet));
  EXPECT_EQ(client.read().body, "/x");
}

TEST_F(ServerTest, ContinueIsSentOnlyWhenTheBodyIsWanted) {
  start();
  const std::string fields = "Host: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
  RawClient wanted(worker_->port());
  ASSERT_TRUE(wanted.send("POST /echo HTTP/1.1\r\n" + fields));
  EXPECT_EQ(wanted.read().status, 100);
  ASSERT_TRUE(wanted.send("hello"));
  EXPECT_EQ(wanted.read().body, "hello");
  RawClient refused(worker_->port());
  ASSERT_TRUE(refused.send("POST /early HTTP/1.1\r\n" + fields));
  const auto answer = refused.read();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.field("Connection"), "close");
  RawClient old(worker_->port());
  ASSERT_TRUE(old.send("POST /echo HTTP/1.0\r\n" + fields));
  EXPECT_TRUE(old.quiet_for(150));
  ASSERT_TRUE(old.send("hello"));
  EXPECT_EQ(old.read().body, "hello");
}

TEST_F(ServerTest, Http10AndCloseAreHonoured) {
  start();
  RawClient old(worker_->port());
  ASSERT_TRUE(old.send("GET /x HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(old.read().field("Connection"), "close");
  EXPECT_TRUE(old.closed_within(3000));
  RawClient kept(worker_->port());
  ASSERT_TRUE(kept.send("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_EQ(kept.read().field("Connection"), "keep-alive");
  ASSERT_TRUE(kept.send("HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + kGet));
  const auto head = kept.read(RawClient::Request::head);
  EXPECT_EQ(head.field("Content-Length"), "2");
  EXPECT_TRUE(kept.closed_within(3000));
}

TEST_F(ServerTest, AClientThatLeavesCancels) {
  TestHandler& handler = start();
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_TRUE(test::eventually([&] { return handler.hanging == 1; }));
  client.reset();
  EXPECT_TRUE(test::eventually([&] { return handler.canceled == 1; }));
  EXPECT_EQ(handler.endings[static_cast<int>(Ending::client_gone)], 1);
  RawClient polite(worker_->port());
  ASSERT_TRUE(polite.send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_TRUE(test::eventually([&] { return handler.hanging == 2; }));
  polite.close();
  EXPECT_TRUE(test::eventually([&] { return handler.canceled == 2; }));
}

TEST_F(ServerTest, AnAbortedResponseCannotBeTakenForWhole) {
  start();
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_FALSE(answer.complete);
}

TEST_F(ServerTest, AcceptingPausesAtTheCapAndGoesOnBelowIt) {
  ServerOptions options;
  options.connections = 2;
  start(options);
  auto one = std::make_unique<RawClient>(worker_->port());
  RawClient two(worker_->port());
  for (RawClient* client : {one.get(), &two}) {
    ASSERT_TRUE(client->send("GET / HTTP/1.1\r\nHost:"));  // under way, so not idle
  }
  ASSERT_TRUE(test::eventually([&] { return worker_->server().stats().open_connections == 2; }));
  RawClient three(worker_->port());
  ASSERT_TRUE(three.send(kGet));
  EXPECT_TRUE(three.quiet_for(200));
  one.reset();
  EXPECT_EQ(three.read().status, 200);
  EXPECT_GE(worker_->server().stats().pauses, 1u);
  EXPECT_EQ(worker_->server().stats().shed, 0u);
}

TEST_F(ServerTest, AtTheCapTheLongestIdleMakesRoom) {
  ServerOptions options;
  options.connections = 2;
  start(options);
  RawClient oldest(worker_->port());
  RawClient busy(worker_->port());
  // A client reads its response a moment before the server counts the exchange as ended.
  const auto under_way = [&](int count) {
    return test::eventually([&] { return worker_->server().stats().in_flight == count; });
  };
  ASSERT_TRUE(oldest.send(kGet));
  EXPECT_EQ(oldest.read().status, 200);
  ASSERT_TRUE(under_way(0));
  ASSERT_TRUE(busy.send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_TRUE(under_way(1));
  RawClient late(worker_->port());
  ASSERT_TRUE(late.send(kGet));
  EXPECT_EQ(late.read().status, 200);
  EXPECT_TRUE(oldest.closed_within(3000));
  EXPECT_EQ(worker_->server().stats().shed, 1u);
  EXPECT_TRUE(under_way(1));
}

TEST_F(ServerTest, RunningOutOfDescriptorsOnlyDelaysAccepting) {
  start();
  auto one = std::make_unique<RawClient>(worker_->port());
  ASSERT_TRUE(one->send(kGet));
  EXPECT_EQ(one->read().status, 200);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // Room for one descriptor, which the next client takes: its connection cannot be accepted.
  const int next = ::dup(0);
  ::close(next);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  RawClient two(worker_->port());
  ASSERT_TRUE(two.send(kGet));
  EXPECT_TRUE(two.quiet_for(200));
  one.reset();  // gives two back
  EXPECT_EQ(two.read().status, 200);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_GE(worker_->server().stats().pauses, 1u);
}

TEST_F(ServerTest, AFloodOfPipelinedRequestsLeavesOthersTheirTurn) {
  start();
  std::string flood;
  for (int n = 0; n < 20000; ++n) flood += kGet;
  RawClient greedy(worker_->port());
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> floods{0};
  std::thread sender([&] {
    while (!stop && greedy.send(flood)) ++floods;
  });
  std::thread reader([&] {
    while (!greedy.read_some(1 << 20).empty()) {
    }
  });
  ASSERT_TRUE(test::eventually([&] { return worker_->server().stats().requests > 1000; }));
  RawClient modest(worker_->port());
  const auto began = std::chrono::steady_clock::now();
  for (int n = 0; n < 20; ++n) {
    ASSERT_TRUE(modest.send(kGet));
    EXPECT_EQ(modest.read().status, 200);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  stop = true;
  sender.join();
  greedy.half_close();
  reader.join();
}

TEST_F(ServerTest, OneAddressHasItsOwnCap) {
  ServerOptions options;
  options.connections_per_address = 1;
  start(options);
  RawClient one(worker_->port());
  ASSERT_TRUE(one.send(kGet));
  EXPECT_EQ(one.read().status, 200);
  RawClient two(worker_->port());
  EXPECT_TRUE(two.closed_within(3000));
  EXPECT_EQ(worker_->server().stats().rejected, 1u);
}

TEST(ConnectionBudget, AnIpv6ClientIsItsNetworkAndAMappedAddressItself) {
  using boost::asio::ip::make_address;
  using Verdict = ConnectionBudget::Verdict;
  ConnectionBudget budget;
  const auto take = [&budget](const char* address) { return budget.take(make_address(address), 100, 1); };
  EXPECT_EQ(take("2001:db8:0:1::1"), Verdict::granted);
  EXPECT_EQ(take("2001:db8:0:1:ffff::2"), Verdict::address_full);
  EXPECT_EQ(take("2001:db8:0:2::1"), Verdict::granted);
  EXPECT_EQ(take("192.0.2.1"), Verdict::granted);
  EXPECT_EQ(take("::ffff:192.0.2.1"), Verdict::address_full);
  EXPECT_EQ(take("192.0.2.2"), Verdict::granted);
  budget.give_back(make_address("2001:db8:0:1::9"));
  EXPECT_EQ(take("2001:db8:0:1::1"), Verdict::granted);
  EXPECT_EQ(budget.open(), 4);
}

TEST_F(ServerTest, DrainFinishesWhatRunsAndClosesWhatIsIdle) {
  start();
  RawClient idle(worker_->port());
  ASSERT_TRUE(idle.send(kGet));
  EXPECT_EQ(idle.read().status, 200);
  RawClient busy(worker_->port());
  ASSERT_TRUE(busy.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"));
  ASSERT_TRUE(test::eventually([this] { return worker_->server().stats().in_flight == 1; }));
  worker_->run([this] { worker_->server().drain(); });
  EXPECT_THROW(RawClient(worker_->port()), std::runtime_error);
  ASSERT_TRUE(busy.send("lo"));
  const auto answer = busy.read();
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(busy.closed_within(3000));
  EXPECT_TRUE(idle.closed_within(5000));
  EXPECT_TRUE(test::eventually([this] { return worker_->server().idle(); }));
}

TEST_F(ServerTest, StopEndsHangingExchanges) {
  TestHandler& handler = start();
  RawClient client(worker_->port());
  ASSERT_TRUE(client.send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_TRUE(test::eventually([&] { return handler.hanging == 1; }));
  worker_->run([this] { worker_->server().stop(); });
  EXPECT_TRUE(client.closed_within(3000));
  EXPECT_EQ(handler.canceled, 1);
}

}  // namespace
}  // namespace weir::http
