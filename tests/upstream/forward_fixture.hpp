// SPDX-License-Identifier: Apache-2.0
// Session and forwarder together over real sockets: a client, the data path, an upstream.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <string>

#include "support/echo_upstream.hpp"
#include "support/raw_client.hpp"
#include "support/worker_thread.hpp"
#include "upstream/forwarders.hpp"

namespace weir::upstream {
namespace {

using test::EchoUpstream;
using test::eventually;
using test::RawClient;
using test::WorkerThread;
using Request = EchoUpstream::Request;
using Wire = EchoUpstream::Wire;
using namespace std::chrono_literals;

class ForwardingHandler final : public http::Handler {
 public:
  explicit ForwardingHandler(net::EventLoop& loop) : forwarders(loop) {}

  boost::asio::awaitable<void> handle(http::Exchange& exchange) override {
    ForwardPlan plan;
    plan.request_target = exchange.request().target;
    plan.request_fields = "X-Forwarded-For: 1.2.3.4\r\n";
    plan.response_fields = "X-Request-Id: 7\r\n";
    plan.cost_response_field = "x-cost";
    Forwarder* forwarder = forwarders.find("default");
    const ForwardResult result = co_await forwarder->forward(exchange, plan);
    const std::lock_guard lock(mutex_);
    results_.push_back(result);
  }
  void refused(int, std::string_view) noexcept override {}

  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return results_.size();
  }
  ForwardResult last() {
    const std::lock_guard lock(mutex_);
    return results_.back();
  }

  Forwarders forwarders;

 private:
  std::mutex mutex_;
  std::vector<ForwardResult> results_;
};

class ForwardTest : public ::testing::Test {
 protected:
  ForwardTest() {
    cluster_.name = "default";
    server_.body_bytes = std::uint64_t{1} << 30;
  }

  void start(const std::vector<std::uint16_t>& ports) {
    cluster_.endpoints.clear();
    for (const std::uint16_t port : ports) cluster_.endpoints.push_back({"127.0.0.1", port});
    worker_ = std::make_unique<WorkerThread>(server_, [this](net::EventLoop& loop) {
      auto handler = std::make_unique<ForwardingHandler>(loop);
      handler->forwarders.update({cluster_});
      return handler;
    });
  }
  ForwardingHandler& handler() { return static_cast<ForwardingHandler&>(worker_->handler()); }
  ForwardError last_error() {
    EXPECT_TRUE(eventually([this] { return handler().count() > 0; }));
    return handler().last().error;
  }
  // A port that nobody listens on.
  static std::uint16_t dead_port() {
    EchoUpstream closed;
    return closed.port();
  }
  static std::string get(const std::string& target = "/") {
    return "GET " + target + " HTTP/1.1\r\nHost: a.test\r\n\r\n";
  }
  static std::string post(const std::string& body) {
    return "POST /p HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }

  ClusterOptions cluster_;
  http::ServerOptions server_;
  std::unique_ptr<WorkerThread> worker_;
};

}  // namespace
}  // namespace weir::upstream
