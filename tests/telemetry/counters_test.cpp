// SPDX-License-Identifier: Apache-2.0
#include "telemetry/counters.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weir::telemetry {
namespace {

// The definition: the first bucket whose bound is not below the value, or the one without a bound.
std::size_t bucket_of(std::span<const std::int64_t> bounds, std::int64_t value) {
  std::size_t n = 0;
  while (n < bounds.size() && bounds[n] < value) ++n;
  return n;
}

std::vector<std::uint64_t> counts_of(const Histogram& histogram) {
  std::vector<std::uint64_t> counts;
  for (std::size_t n = 0; n <= histogram.bounds().size(); ++n) counts.push_back(histogram.count(n));
  return counts;
}

// Each value after each other one.
TEST(Histogram, CountsInTheSameBucketWhateverCameBefore) {
  std::vector<std::int64_t> values{-7, 0, INT64_MAX};
  for (const std::int64_t bound : kQuickBounds) values.insert(values.end(), {bound - 1, bound, bound + 1});
  Histogram histogram(kQuickBounds);
  std::vector<std::uint64_t> wanted(kQuickBounds.size() + 1);
  for (const std::int64_t first : values) {
    for (const std::int64_t second : values) {
      for (const std::int64_t value : {first, second}) {
        histogram.observe(value);
        ++wanted[bucket_of(kQuickBounds, value)];
      }
    }
  }
  EXPECT_EQ(counts_of(histogram), wanted);
}

TEST(Histogram, SumsWhatItObserves) {
  Histogram histogram(kQuickBounds);
  std::mt19937_64 random(7);
  std::uint64_t sum = 0;
  for (int n = 0; n < 1000; ++n) {
    const auto value = static_cast<std::int64_t>(random() % 400000);
    histogram.observe(value);
    sum += static_cast<std::uint64_t>(value);
  }
  histogram.observe(-1);  // a clock that stepped back: no time at all
  EXPECT_EQ(histogram.sum(), sum);
}

TEST(Histogram, WithoutBoundsHasOneBucket) {
  Histogram histogram({});
  histogram.observe(3);
  histogram.observe(9);
  EXPECT_EQ(counts_of(histogram), (std::vector<std::uint64_t>{2}));
}

}  // namespace
}  // namespace weir::telemetry
