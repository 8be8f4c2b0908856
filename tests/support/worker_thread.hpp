// SPDX-License-Identifier: Apache-2.0
// A worker of the data path in a thread of its own: event loop, clusters, server. The test talks to it
// through sockets, and through run() where it must look inside.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "http/server.hpp"
#include "net/event_loop.hpp"
#include "weir/base/clock.hpp"

namespace weir::test {

class WorkerThread {
 public:
  // `make_handler` is called with the loop before the thread starts; what it returns outlives the server.
  template <class MakeHandler>
  WorkerThread(const http::ServerOptions& options, MakeHandler make_handler)
      : handler_(make_handler(loop_)),
        server_(std::make_unique<http::Server>(loop_, *handler_, budget_,
                                               std::make_shared<const http::ServerOptions>(options))) {
    port_ = server_->listen("127.0.0.1", 0).value();
    thread_ = std::thread([this] { io_.run(); });
  }

  ~WorkerThread() {
    run([this] {
      server_->stop();
      loop_.stop();
    });
    thread_.join();
    io_.restart();
    io_.poll();  // what was canceled ends
    server_.reset();
    handler_.reset();
    io_.restart();
    io_.poll();
  }

  std::uint16_t port() const noexcept { return port_; }
  http::Server& server() noexcept { return *server_; }
  http::Handler& handler() noexcept { return *handler_; }
  // Runs `work` on the worker's thread and waits for it.
  void run(const std::function<void()>& work) {
    std::promise<void> done;
    boost::asio::post(io_, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

 private:
  boost::asio::io_context io_{1};
  net::EventLoop loop_{io_, system_clock()};
  std::shared_ptr<http::ConnectionBudget> budget_ = std::make_shared<http::ConnectionBudget>();
  std::unique_ptr<http::Handler> handler_;
  std::unique_ptr<http::Server> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// Waits until `condition` holds, at most 30 s. For what happens on another thread.
inline bool eventually(const std::function<bool()>& condition) {
  for (int n = 0; n < 3000; ++n) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace weir::test
