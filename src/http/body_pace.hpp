// SPDX-License-Identifier: Apache-2.0
// Whether a request's body comes fast enough: the mean rate over every window of time spent waiting for the
// client. Time in which the upstream is waited for does not count. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir::http {

class BodyPace {
 public:
  static constexpr std::int64_t kShortestWindowMs = 10'000;

  // `least`: bytes per second, 0 is any. `idle_ms`: how long the client may pause (0: for ever); a window is
  // at least that long, so that a pause that is allowed is not too slow.
  void begin(std::uint64_t least, std::int64_t idle_ms) noexcept {
    *this = {};
    least_ = least;
    window_ms_ = std::max(kShortestWindowMs, idle_ms);
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
  std::int64_t window_ms_ = kShortestWindowMs;
  std::int64_t waited_ms_ = 0;
};

}  // namespace weir::http
