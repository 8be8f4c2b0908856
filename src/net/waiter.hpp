// SPDX-License-Identifier: Apache-2.0
// The place where one coroutine waits until somebody wakes it or its deadline passes. Waking resumes the
// coroutine at once, on the caller's stack: wake only from the event loop's own calls (socket events, timers,
// posted handlers) or from a coroutine that is about to wait or end itself. One thread only.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <utility>

#include "net/parked.hpp"
#include "net/timer_wheel.hpp"

namespace weir::net {

enum class Wake : std::uint8_t { ready, timed_out, canceled };

class Waiter {
 public:
  explicit Waiter(TimerWheel& wheel) noexcept : timer_(wheel, &Waiter::expire, this) {}

  // Waits for wake(), at most until `deadline_ms` (0: no limit). One coroutine at a time.
  boost::asio::awaitable<Wake> wait(std::int64_t deadline_ms) {
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Wake)>(
        Park(this, deadline_ms), boost::asio::use_awaitable);
  }
  bool waiting() const noexcept { return parked_.waits(); }
  // Resumes the coroutine, if one waits. The Waiter may be gone when this returns.
  void wake(Wake why) {
    if (!parked_.waits()) return;
    timer_.rest();
    parked_.resume(why);
  }

 private:
  struct Park {
    Waiter* waiter;
    std::int64_t deadline_ms;
    Park(Waiter* waiter_, std::int64_t deadline_ms_) : waiter(waiter_), deadline_ms(deadline_ms_) {}

    template <class Handler>
    void operator()(Handler&& handler) {
      waiter->parked_.park(std::forward<Handler>(handler));
      waiter->timer_.arm(deadline_ms);
    }
  };

  static void expire(void* waiter) { static_cast<Waiter*>(waiter)->wake(Wake::timed_out); }

  Parked<Wake> parked_;
  Timer timer_;
};

}  // namespace weir::net
