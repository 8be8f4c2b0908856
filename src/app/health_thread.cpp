// SPDX-License-Identifier: Apache-2.0
#include "app/health_thread.hpp"

#include <boost/asio/post.hpp>

#include "telemetry/log.hpp"

namespace weir::app {

void HealthThread::start() {
  checker_.update();
  thread_ = std::thread([this] {
    while (!io_.stopped()) {
      try {
        io_.run();
        return;
      } catch (const std::exception& error) {
        telemetry::log_error("upstream.health_exception", error.what());
      }
    }
  });
}

void HealthThread::update() {
  boost::asio::post(io_, [this] { checker_.update(); });
}

void HealthThread::stop() {
  if (!thread_.joinable()) return;
  boost::asio::post(io_, [this] {
    checker_.stop();
    loop_.stop();
    io_.stop();
  });
  thread_.join();
}

}  // namespace weir::app
