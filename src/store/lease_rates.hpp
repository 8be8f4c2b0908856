// SPDX-License-Identifier: Apache-2.0
// How often a key is asked for here, and how fast the whole fleet uses it up. Not thread-safe; times are the
// local monotonic clock's milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "store/lease_rules.hpp"

namespace weir::store {

// Arrivals per second, from stretches long enough to tell.
class Rate {
 public:
  void count(std::int64_t permits, std::int64_t now_ms) {
    if (since_ms_ == 0) since_ms_ = now_ms;
    permits_ += permits;
    const std::int64_t stretch = now_ms - since_ms_;
    const bool tells =
        (stretch >= 100 && permits_ >= 20) || (stretch >= 250 && permits_ >= 8) || stretch >= 1000;
    if (!tells) return;
    const double seen = static_cast<double>(permits_) * 1000 / static_cast<double>(stretch);
    const bool anew = per_second_ == 0 || stretch >= 3000;
    per_second_ = anew ? seen : per_second_ + (seen - per_second_) / 2;
    since_ms_ = now_ms;
    permits_ = 0;
  }
  double at(std::int64_t now_ms) const {
    const std::int64_t stretch = now_ms - since_ms_;
    if (stretch < 1000) return per_second_;
    return std::min(per_second_, static_cast<double>(permits_ + 1) * 1000 / static_cast<double>(stretch));
  }

 private:
  double per_second_ = 0;
  std::int64_t since_ms_ = 0;
  std::int64_t permits_ = 0;
};

// Permits per second that the whole fleet takes, from what is left at two moments.
class FleetRate {
 public:
  // What was heard last.
  struct Heard {
    double per_second = 0;
    std::int64_t remaining = 0;
    std::int64_t tag_ends_ms = 0;
    std::int64_t at_ms = 0;  // 0: nothing yet
  };
  FleetRate() = default;
  explicit FleetRate(const Heard& last) : last_(last) {}

  void hear(const limit::Terms& terms, std::int64_t remaining, std::int64_t tag_ends_ms,
            std::int64_t now_ms) {
    constexpr std::int64_t kStretchMs = 50;
    const bool bucket = tag_ends_ms == kForever;
    const bool same = last_.at_ms > 0 && (bucket || tag_ends_ms - last_.tag_ends_ms < kStretchMs);
    const std::int64_t stretch = now_ms - last_.at_ms;
    if (same && stretch < kStretchMs) return;
    if (same) {
      double taken = static_cast<double>(last_.remaining - remaining) * 1000 / static_cast<double>(stretch);
      if (bucket) taken += static_cast<double>(terms.limit) * 1000 / static_cast<double>(terms.window_ms);
      taken = std::max(taken, 0.0);
      last_.per_second = last_.per_second == 0 ? taken : last_.per_second + (taken - last_.per_second) / 2;
    }
    last_.remaining = remaining;
    last_.tag_ends_ms = tag_ends_ms;
    last_.at_ms = now_ms;
  }
  double value() const { return last_.per_second; }

 private:
  Heard last_;
};

}  // namespace weir::store
