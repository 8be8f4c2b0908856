// SPDX-License-Identifier: Apache-2.0
// Time and threads: a worker that waited for another's turn must not judge by a moment from before it.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "store/memory_store.hpp"

namespace weir::store {
namespace {

// One bucket: 1 permit, refilled once per millisecond.
limit::Policy quick_bucket() {
  limit::Policy policy;
  policy.layer = "user";
  policy.terms.algorithm = limit::AlgorithmKind::token_bucket;
  policy.terms.limit = 1000;
  policy.terms.window_ms = 1000;
  policy.terms.burst = 1;
  return policy;
}

TEST(MemoryTime, NoIntervalRefillsABucketTwiceUnderContention) {
  const Clock& clock = system_clock();
  MemoryStore store(64, clock);
  const limit::Policy policy = quick_bucket();
  std::atomic<std::int64_t> allowed{0};
  const std::int64_t began = clock.monotonic_ms();
  const auto hammer = [&] {
    const auto set = std::make_unique<limit::ChargeSet>();
    set->size = 1;
    set->charge[0].policy = &policy;
    set->charge[0].key = "one hot key";
    while (clock.monotonic_ms() - began < 300) {
      store.decide_now(*set);
      if (set->charge[0].charged) allowed.fetch_add(1);
    }
  };
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) threads.emplace_back(hammer);
  for (auto& thread : threads) thread.join();
  const std::int64_t passed_ms = clock.monotonic_ms() - began;
  EXPECT_GT(allowed.load(), 0);
  EXPECT_LE(allowed.load(), passed_ms + 1) << "more than the burst and one per millisecond";
}

}  // namespace
}  // namespace weir::store
