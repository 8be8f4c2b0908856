// SPDX-License-Identifier: Apache-2.0
// Whether a request's body comes fast enough: the mean rate over every window of time spent waiting for the
// client. Time in which the upstream is waited for does not count. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::http {

class BodyPace {
 public:
  // `least`: bytes per second, 0 is any. `window_ms`: no shorter than the pause that a client may make, or
  // that pause would be too slow.
  void begin(std::uint64_t least, std::int64_t window_ms) noexcept {
    *this = {};
    least_ = least;
    window_ms_ = window_ms;
  }
  void got(std::uint64_t bytes) noexcept { bytes_ += bytes; }
  void waited(std::int64_t ms) noexcept { waited_ms_ += ms; }
  bool judges() const noexcept { return least_ != 0; }
  // How much longer may be waited before too_slow() has to be asked.
  std::int64_t left_ms() const noexcept { return std::max<std::int64_t>(window_ms_ - waited_ms_, 1); }
  // At the end of a window: judges it, and begins the next.
  bool too_slow() noexcept {
    if (!judges() || waited_ms_ < window_ms_) return false;
    const bool slow = bytes_ < least_ * static_cast<std::uint64_t>(waited_ms_) / 1000;
    bytes_ = 0;
    waited_ms_ = 0;
    return slow;
  }

 private:
  std::uint64_t least_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t window_ms_ = 0;
  std::int64_t waited_ms_ = 0;
};

}  // namespace weir::http
