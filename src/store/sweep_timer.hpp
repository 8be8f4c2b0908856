// SPDX-License-Identifier: Apache-2.0
// Calls again and again for as long as there is something to look after. Everything on the executor's thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <utility>

#include "weir/base/result.hpp"

namespace weir::store {

class SweepTimer {
 public:
  // `sweep` says whether it is to be called again. Whoever owns both ends with close(), and lives until the
  // executor has run what was under way.
  SweepTimer(const boost::asio::any_io_executor& executor, std::chrono::milliseconds every,
             std::function<bool()> sweep)
      : timer_(executor), every_(every), sweep_(std::move(sweep)) {}

  // There is something to look after from now on.
  void arm() {
    if (armed_ || closed_) return;
    armed_ = true;
    timer_.expires_after(every_);
    timer_.async_wait([this](error_code failed) {
      if (failed || closed_) return;
      armed_ = false;
      if (sweep_()) arm();
    });
  }
  // Never again.
  void close() {
    closed_ = true;
    timer_.cancel();
  }
  bool armed() const noexcept { return armed_; }

 private:
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds every_;
  std::function<bool()> sweep_;
  bool armed_ = false;
  bool closed_ = false;
};

}  // namespace weir::store
