// SPDX-License-Identifier: Apache-2.0
// Coarse deadlines: one wheel per worker, 50 ms a tick, intrusive timers, integers only. Arming costs a few
// stores (a later deadline than the one a timer is filed under: one store), so every wait can have a limit.
// A deadline fires up to two ticks late, never early. One thread only.
#pragma once

#include <array>
#include <cstdint>

namespace weir::net {

class TimerWheel;

// A deadline and what to do then. Lives inside its owner; destruction disarms it.
class Timer {
 public:
  using Call = void (*)(void* context);

  Timer(TimerWheel& wheel, Call call, void* context) noexcept
      : wheel_(wheel), call_(call), context_(context) {}
  ~Timer() { disarm(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Calls `call(context)` once, from the wheel, when `deadline_ms` (the loop's monotonic clock) has passed.
  // Replaces an earlier deadline. 0 disarms.
  void arm(std::int64_t deadline_ms) noexcept;
  // Forgets the deadline but stays filed, so that the next arm() is cheap.
  void rest() noexcept { deadline_ms_ = 0; }
  void disarm() noexcept;
  std::int64_t deadline_ms() const noexcept { return deadline_ms_; }

 private:
  friend class TimerWheel;
  TimerWheel& wheel_;
  Call call_;
  void* context_;
  std::int64_t deadline_ms_ = 0;  // 0: resting
  std::int64_t filed_tick_ = 0;   // the tick it will be looked at
  Timer* next_ = nullptr;
  Timer** slot_ = nullptr;  // what points at this timer; nullptr: not filed
};

class TimerWheel {
 public:
  static constexpr std::int64_t kTickMs = 50;
  static constexpr std::size_t kSlots = 1024;  // a turn: 51.2 s; later deadlines are looked at once per turn

  explicit TimerWheel(std::int64_t now_ms) noexcept : tick_(now_ms / kTickMs) {}
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Fires what is due at `now_ms`. Timers may arm, disarm and destroy themselves or others meanwhile.
  void advance(std::int64_t now_ms);
  std::size_t filed() const noexcept { return filed_; }

 private:
  friend class Timer;
  void file(Timer& timer) noexcept;
  void unfile(Timer& timer) noexcept;
  void look_at(Timer& timer, std::int64_t now_ms);

  std::array<Timer*, kSlots> slots_{};
  std::int64_t tick_;  // the last tick that was handled
  std::size_t filed_ = 0;
};

}  // namespace weir::net
