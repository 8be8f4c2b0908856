// SPDX-License-Identifier: Apache-2.0
// Session and forwarder together over real sockets: a client, the data path, an upstream.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
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

// Sanitizers keep freed memory aside, which says nothing about ours.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr long kGrowthKib = 1 << 20;
#else
constexpr long kGrowthKib = 16 * 1024;
#endif

inline long resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmRSS:") {
      long kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

class ForwardingHandler final : public http::Handler {
 public:
  explicit ForwardingHandler(net::EventLoop& loop) : forwarders(loop) {}

  boost::asio::awaitable<void> handle(http::Exchange& exchange) override {
    ++begun_;
    ForwardPlan plan;
    plan.request_target = exchange.request().target;
    plan.request_fields = "X-Forwarded-For: 1.2.3.4\r\n";
    plan.response_fields = "X-Request-Id: 7\r\n";
    plan.cost_response_field = "x-cost";
    Forwarder* forwarder = forwarders.find("default");
    const ForwardResult result = co_await forwarder->forward(exchange, plan);
    const std::lock_guard lock(mutex_);
    results_.push_back(result);
    last_ = {exchange.status(), exchange.bytes_received(), exchange.bytes_sent(), exchange.ending()};
  }
  void refused(int, std::string_view) noexcept override {}

  struct Facts {
    int status = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    http::Ending ending = http::Ending::complete;
  };
  Facts last_facts() {
    wait_for_ends();
    const std::lock_guard lock(mutex_);
    return last_;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return results_.size();
  }
  ForwardResult last() {
    wait_for_ends();
    const std::lock_guard lock(mutex_);
    return results_.empty() ? ForwardResult() : results_.back();
  }

  Forwarders forwarders;

 private:
  // A client reads the end of its response a moment before the forward ends.
  void wait_for_ends() {
    EXPECT_TRUE(eventually([this] { return count() == begun_; }));
  }

  std::atomic<std::size_t> begun_{0};
  std::mutex mutex_;
  std::vector<ForwardResult> results_;
  Facts last_;
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
