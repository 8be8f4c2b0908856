// SPDX-License-Identifier: Apache-2.0
// The thread that checks the health of upstreams: one per process, and its own, so that neither a busy worker
// nor a reload makes an endpoint look slow.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <thread>

#include "net/event_loop.hpp"
#include "upstream/health_checker.hpp"
#include "upstream/shared_cluster.hpp"

namespace weir::app {

class HealthThread {
 public:
  explicit HealthThread(std::shared_ptr<upstream::SharedClusters> clusters)
      : loop_(io_, clusters->clock()), checker_(loop_, std::move(clusters)) {}
  ~HealthThread() { stop(); }

  void start();
  // What the clusters are has changed. Any thread.
  void update();
  void stop();  // and joins; again: nothing

 private:
  boost::asio::io_context io_{1};
  net::EventLoop loop_;
  upstream::HealthChecker checker_;
  std::thread thread_;
};

}  // namespace weir::app
