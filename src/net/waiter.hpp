// SPDX-License-Identifier: Apache-2.0
// The place where one coroutine waits until somebody wakes it or its deadline passes. Waking resumes the
// coroutine at once, on the caller's stack: wake only from the event loop's own calls (socket events, timers,
// posted handlers) or from a coroutine that is about to wait or end itself. One thread only.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "net/timer_wheel.hpp"

namespace weir::net {

enum class Wake : std::uint8_t { ready, timed_out, canceled };

class Waiter {
 public:
  explicit Waiter(TimerWheel& wheel) noexcept : timer_(wheel, &Waiter::expire, this) {}
  ~Waiter() {
    if (resume_ != nullptr) drop_(storage_);
  }

  // Waits for wake(), at most until `deadline_ms` (0: no limit). One coroutine at a time.
  boost::asio::awaitable<Wake> wait(std::int64_t deadline_ms) {
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Wake)>(
        Park(this, deadline_ms), boost::asio::use_awaitable);
  }
  bool waiting() const noexcept { return resume_ != nullptr; }
  // Resumes the coroutine, if one waits. The Waiter may be gone when this returns.
  void wake(Wake why) {
    if (resume_ == nullptr) return;
    timer_.rest();
    std::exchange(resume_, nullptr)(storage_, why);
  }

 private:
  // An awaitable's handler is one pointer wide; it is kept in place, so that waiting allocates nothing here.
  static constexpr std::size_t kHandlerBytes = 2 * sizeof(void*);

  struct Park {
    Waiter* waiter;
    std::int64_t deadline_ms;
    Park(Waiter* waiter_, std::int64_t deadline_ms_) : waiter(waiter_), deadline_ms(deadline_ms_) {}

    template <class Handler>
    void operator()(Handler&& handler) {
      using Stored = std::decay_t<Handler>;
      static_assert(sizeof(Stored) <= kHandlerBytes);
      ::new (static_cast<void*>(waiter->storage_)) Stored(std::forward<Handler>(handler));
      waiter->resume_ = [](void* storage, Wake why) {
        auto* stored = static_cast<Stored*>(storage);
        Stored taken(std::move(*stored));
        stored->~Stored();
        std::move(taken)(why);
      };
      waiter->drop_ = [](void* storage) { static_cast<Stored*>(storage)->~Stored(); };
      waiter->timer_.arm(deadline_ms);
    }
  };

  static void expire(void* waiter) { static_cast<Waiter*>(waiter)->wake(Wake::timed_out); }

  alignas(std::max_align_t) std::byte storage_[kHandlerBytes];
  void (*resume_)(void* storage, Wake why) = nullptr;
  void (*drop_)(void* storage) = nullptr;
  Timer timer_;
};

}  // namespace weir::net
