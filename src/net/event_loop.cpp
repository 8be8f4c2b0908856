// SPDX-License-Identifier: Apache-2.0
#include "net/event_loop.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace weir::net {

EventLoop::EventLoop(boost::asio::io_context& io, const Clock& clock)
    : io_(io),
      clock_(clock),
      poller_(io, clock),
      wheel_(clock.monotonic_ms()),
      ticker_(io),
      scratch_(std::make_unique_for_overwrite<char[]>(kScratchBytes)) {
  poller_.start();
  tick();
}

EventLoop::~EventLoop() = default;

void EventLoop::stop() noexcept {
  stopped_ = true;
  poller_.stop();
  ticker_.cancel();
}

boost::asio::awaitable<void> EventLoop::yield() {
  co_await boost::asio::post(io_, boost::asio::use_awaitable);
}

void EventLoop::tick() {
  ticker_.expires_after(std::chrono::milliseconds(TimerWheel::kTickMs));
  ticker_.async_wait([this](error_code failed) {
    if (failed || stopped_) return;
    poller_.refresh_time();
    wheel_.advance(poller_.now_ms());
    tick();
  });
}

}  // namespace weir::net
