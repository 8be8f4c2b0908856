// SPDX-License-Identifier: Apache-2.0
// The session over real sockets, with a handler that answers by itself.
#pragma once

#include "http/server.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "support/raw_client.hpp"
#include "support/worker_thread.hpp"
#include "weir/http/error.hpp"

namespace weir::http {

using test::RawClient;
using test::WorkerThread;
using namespace std::chrono_literals;

// /echo: the body back, in pieces as it comes. /big/N: N bytes. /early: 403 without reading. /hang: never
// answers until the client goes. Everything else: 200 with the path.
class TestHandler final : public Handler {
 public:
  explicit TestHandler(net::EventLoop& loop) : waiter_(loop.wheel()) {}

  boost::asio::awaitable<void> handle(Exchange& exchange) override {
    const std::string path(exchange.request().path);
    if (path == "/echo") return echo(exchange);
    if (path.starts_with("/big/")) return big(exchange, std::stoul(path.substr(5)));
    if (path == "/early") return reply(exchange, 403, "no");
    if (path == "/hang") return hang(exchange);
    if (path == "/broken") return broken(exchange);
    return reply(exchange, 200, path);
  }
  void refused(int status, std::string_view reason) noexcept override {
    refused_status = status;
    refused_reason = reason;
  }

  std::atomic<int> refused_status{0};
  std::string refused_reason;
  std::atomic<int> canceled{0};
  std::atomic<int> hanging{0};
  std::atomic<std::size_t> appended{0};
  std::atomic<int> endings[5] = {};

 private:
  boost::asio::awaitable<void> reply(Exchange& exchange, int status, std::string body) {
    LocalReply answer;
    answer.status = status;
    answer.body = body;
    co_await exchange.reply(answer);
    ++endings[static_cast<int>(exchange.ending())];
  }

  boost::asio::awaitable<void> echo(Exchange& exchange) {
    std::string whole;
    for (;;) {
      const auto piece = co_await exchange.read_body();
      if (!piece) {
        const int status = status_of_body_error(piece.error());
        ++endings[static_cast<int>(exchange.ending())];
        if (status == 0) co_return exchange.abort();
        co_return co_await reply(exchange, status, "body");
      }
      if (piece->empty()) break;
      whole += *piece;
    }
    exchange.start_response(200, "OK", "", {BodyKind::chunked, 0});
    exchange.append_body(whole);
    exchange.finish_body();
    (void)co_await exchange.flush();
  }

  boost::asio::awaitable<void> big(Exchange& exchange, std::size_t size) {
    exchange.start_response(200, "OK", "", {BodyKind::length, size});
    const std::string block(65536, 'x');
    for (std::size_t left = size; left > 0;) {
      const std::size_t piece = std::min(left, block.size());
      exchange.append_body(std::string_view(block).substr(0, piece));
      left -= piece;
      appended += piece;
      const auto sent = co_await exchange.flush();
      if (!sent) break;
    }
    exchange.finish_body();
    (void)co_await exchange.flush();
    ++endings[static_cast<int>(exchange.ending())];
  }

  boost::asio::awaitable<void> hang(Exchange& exchange) {
    ++hanging;
    exchange.set_canceller(
        {[](void* self) { static_cast<TestHandler*>(self)->waiter_.wake(net::Wake::canceled); }, this});
    (void)co_await waiter_.wait(0);
    ++canceled;
    ++endings[static_cast<int>(exchange.ending())];
    exchange.abort();
  }

  boost::asio::awaitable<void> broken(Exchange& exchange) {
    exchange.start_response(200, "OK", "", {BodyKind::chunked, 0});
    exchange.append_body("half");
    (void)co_await exchange.flush();
    exchange.abort();
  }

  net::Waiter waiter_;
};

class ServerTest : public ::testing::Test {
 protected:
  TestHandler& start(const ServerOptions& options = {}) {
    worker_ = std::make_unique<WorkerThread>(
        options, [](net::EventLoop& loop) { return std::make_unique<TestHandler>(loop); });
    return static_cast<TestHandler&>(worker_->handler());
  }
  std::unique_ptr<WorkerThread> worker_;
};

const std::string kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

}  // namespace weir::http
