// SPDX-License-Identifier: Apache-2.0
#include "base/coroutine_frames.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace weir {
namespace {

TEST(FramePool, GivesWhatWasGivenBackOfThatSize) {
  FramePool pool;
  void* small = pool.take(100);
  void* large = pool.take(1000);
  pool.give_back(small, 100);
  pool.give_back(large, 1000);
  void* again = pool.take(128);  // of the same step
  void* other = pool.take(129);
  if (kKeepsFrames) EXPECT_EQ(again, small);
  EXPECT_NE(other, large);
  pool.give_back(again, 128);
  pool.give_back(other, 129);
}

TEST(FramePool, BlocksAreAsLargeAsTheyWereAskedForAndNoTwoAreOne) {
  FramePool pool;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::pair<void*, std::size_t>> taken;
    std::set<void*> seen;
    for (std::size_t size = 1; size <= 2 * FramePool::kLargest; size += 31) {
      void* memory = pool.take(size);
      std::memset(memory, 0xa5, size);
      EXPECT_TRUE(seen.insert(memory).second) << size;
      taken.emplace_back(memory, size);
    }
    for (const auto& [memory, size] : taken) pool.give_back(memory, size);
  }
}

TEST(FramePool, KeepsNoMoreThanItsBound) {
  constexpr std::size_t kSize = 1024;
  constexpr std::size_t kCount = 3 * FramePool::kKeptBytes / kSize;
  FramePool pool;
  std::vector<void*> taken;
  for (std::size_t n = 0; n < kCount; ++n) taken.push_back(pool.take(kSize));
  for (void* memory : taken) pool.give_back(memory, kSize);
  EXPECT_EQ(pool.kept_bytes(), kKeepsFrames ? FramePool::kKeptBytes : 0);
}

}  // namespace
}  // namespace weir
