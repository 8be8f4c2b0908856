// SPDX-License-Identifier: Apache-2.0
// What one worker thread waits with: an io_context, the worker's own set of sockets, its coarse timers, its
// clock and its read scratch. Everything here belongs to the thread that runs `io`; nothing is shared.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <span>

#include "net/poller.hpp"
#include "net/timer_wheel.hpp"
#include "weir/base/clock.hpp"

namespace weir::net {

class EventLoop {
 private:
  // The time of this turn: reading the clock costs a request half a percent each time.
  class TurnClock final : public Clock {
   public:
    explicit TurnClock(const Poller& poller) noexcept : poller_(poller) {}
    std::int64_t monotonic_ms() const noexcept override { return poller_.now_ms(); }
    std::int64_t wall_ms() const noexcept override { return poller_.wall_ms(); }

   private:
    const Poller& poller_;
  };

 public:
  static constexpr std::size_t kScratchBytes = 64 * 1024;

  // Neither argument is owned; both outlive the loop. Throws boost::system::system_error when the kernel has
  // no descriptors left (start-up only). While the loop is not stopped, io.run() does not return.
  EventLoop(boost::asio::io_context& io, const Clock& clock);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Stops waiting for sockets and timers, so that io.run() can return. On this worker's thread.
  void stop() noexcept;

  boost::asio::io_context& io() noexcept { return io_; }
  Poller& poller() noexcept { return poller_; }
  TimerWheel& wheel() noexcept { return wheel_; }
  const Clock& clock() const noexcept { return clock_; }
  // The time of this turn of the loop, for deadlines: at most a tick of the wheel behind the clock.
  std::int64_t now_ms() const noexcept { return poller_.now_ms(); }
  std::int64_t wall_ms() const noexcept { return poller_.wall_ms(); }  // for Date fields
  // The same as a Clock, for what a request's facts are dated with. Not for counting: see MemoryStore.
  const Clock& turn_clock() const noexcept { return turn_clock_; }

  // Lets everybody else have a turn. For a coroutine whose peers are always ready.
  boost::asio::awaitable<void> yield();

  // kScratchBytes to read into. Its bytes are valid until the current coroutine next waits.
  std::span<char> scratch() noexcept { return {scratch_.get(), kScratchBytes}; }

 private:
  void tick();

  boost::asio::io_context& io_;
  const Clock& clock_;
  Poller poller_;
  TurnClock turn_clock_{poller_};
  TimerWheel wheel_;
  boost::asio::steady_timer ticker_;
  std::unique_ptr<char[]> scratch_;
  bool stopped_ = false;
};

}  // namespace weir::net
