// SPDX-License-Identifier: Apache-2.0
// Whether a client takes its response fast enough, by what its side has acknowledged, not by when the socket
// has room again: the kernel tells of room only when a third of its buffer is free, which takes an honest
// client on a slow line longer than any sensible time limit. Counts only time in which the client is waited
// for. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::http {

class SendPace {
 public:
  // `idle_ms`: how long not a byte may be taken, 0 is no limit. `least`: bytes per second, the mean of every
  // `window_ms` of waiting, 0 is any. Both limits are looked at when deadline_ms() has passed.
  void begin(std::int64_t idle_ms, std::uint64_t least, std::int64_t window_ms) noexcept {
    *this = {};
    idle_ms_ = idle_ms;
    least_ = least;
    window_ms_ = window_ms;
  }

  // At the first wait: from which count of acknowledged bytes on.
  bool wants_start() const noexcept { return !started_; }
  void start(std::uint64_t acknowledged) noexcept {
    started_ = true;
    seen_ = acknowledged;
    window_start_ = acknowledged;
  }

  // Something could be written, so that the wait from now on is a new one.
  void wrote(std::int64_t now_ms) noexcept { taken_ms_ = now_ms; }
  void waited(std::int64_t ms) noexcept { waited_ms_ += ms; }

  std::int64_t deadline_ms(std::int64_t now_ms) const noexcept {  // 0: none
    const std::int64_t idle = idle_ms_ > 0 ? taken_ms_ + idle_ms_ : 0;
    const std::int64_t window = least_ > 0 ? now_ms + std::max<std::int64_t>(window_ms_ - waited_ms_, 1) : 0;
    return idle == 0 || window == 0 ? std::max(idle, window) : std::min(idle, window);
  }
  bool may_judge(std::int64_t now_ms) const noexcept {
    const bool idle = idle_ms_ > 0 && now_ms - taken_ms_ >= idle_ms_;
    return idle || (least_ > 0 && waited_ms_ >= window_ms_);
  }

  // True: too slow, or idle for too long. A window that is over begins anew.
  bool too_slow(std::int64_t now_ms, std::uint64_t acknowledged) noexcept {
    if (acknowledged != seen_) taken_ms_ = now_ms;
    seen_ = acknowledged;
    const bool idle = idle_ms_ > 0 && now_ms - taken_ms_ >= idle_ms_;
    if (least_ == 0 || waited_ms_ < window_ms_) return idle;
    const std::uint64_t needed = least_ * static_cast<std::uint64_t>(waited_ms_) / 1000;
    const bool slow = acknowledged - window_start_ < needed;
    window_start_ = acknowledged;
    waited_ms_ = 0;
    return idle || slow;
  }

 private:
  std::int64_t idle_ms_ = 0;
  std::uint64_t least_ = 0;
  std::int64_t window_ms_ = 0;
  std::uint64_t seen_ = 0;          // acknowledged, at the last look
  std::uint64_t window_start_ = 0;  // acknowledged, when the window began
  std::int64_t taken_ms_ = 0;       // when the last byte is known to have been taken
  std::int64_t waited_ms_ = 0;      // in the window
  bool started_ = false;
};

}  // namespace weir::http
