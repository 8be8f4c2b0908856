// SPDX-License-Identifier: Apache-2.0
// A clock that stands still unless told.
#pragma once

#include <atomic>

#include "weir/base/clock.hpp"

namespace weir::store {

class FakeClock : public Clock {
 public:
  explicit FakeClock(std::int64_t ms = 1'800'000'000'000) : ms_(ms) {}
  void set(std::int64_t ms) { ms_ = ms; }
  void advance(std::int64_t ms) { ms_ += ms; }
  std::int64_t monotonic_ms() const noexcept override { return ms_; }
  std::int64_t wall_ms() const noexcept override { return ms_; }

 private:
  std::atomic<std::int64_t> ms_;
};

}  // namespace weir::store
