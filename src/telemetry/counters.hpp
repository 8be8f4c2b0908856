// SPDX-License-Identifier: Apache-2.0
// Counters that one thread writes and any thread reads: a plain add, no locked instruction, no shared line.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace weir::telemetry {

// Upper bounds for what takes microseconds when all is well: store calls, judging, timers.
inline constexpr std::array<std::int64_t, 15> kQuickBounds{
    5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 20000, 50000, 100000, 250000};

class Counter {
 public:
  // The owning thread only.
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Fixed buckets; `bounds` are upper bounds in the unit that is observed, at most 19, and outlive this.
class Histogram {
 public:
  static constexpr std::size_t kMaxBuckets = 20;

  explicit Histogram(std::span<const std::int64_t> bounds) noexcept : bounds_(bounds) {}

  // The owning thread only.
  void observe(std::int64_t value) noexcept {
    value = std::max<std::int64_t>(value, 0);
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    counts_[static_cast<std::size_t>(at - bounds_.begin())].add();
    sum_.add(static_cast<std::uint64_t>(value));
  }

  std::span<const std::int64_t> bounds() const noexcept { return bounds_; }
  std::uint64_t count(std::size_t bucket) const noexcept { return counts_[bucket].value(); }
  std::uint64_t sum() const noexcept { return sum_.value(); }

 private:
  std::span<const std::int64_t> bounds_;
  std::array<Counter, kMaxBuckets> counts_;
  Counter sum_;
};

}  // namespace weir::telemetry
