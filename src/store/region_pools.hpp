// SPDX-License-Identifier: Apache-2.0
// What this process last saw of its region's pools: how many permits lie there, and when someone should look
// whether any were left unused. One per process, shared by all workers.
//
// Bounded: beyond kMost keys a new one is not watched until others are over. Times are the local monotonic
// clock's. Threads: every member may be called from all threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/string_map.hpp"
#include "store/pool_call.hpp"

namespace weir::store {

class RegionPools {
 public:
  // What a look at a pool needs.
  struct Known {
    std::string key;  // the counter's
    limit::Terms terms;
    limit::Request request;
  };

  void note(const limit::Charge& charge, const PoolAnswer& answer, std::int64_t now_ms);
  // Those that should be looked at now; each is told once.
  std::vector<Known> due(std::int64_t now_ms);
  // All of them, likewise.
  std::vector<Known> take_all();
  bool watches() const;
  // No gateway of the region is left but this one, and it leaves: from here on nothing is kept.
  void close() noexcept { closing_.store(true); }
  bool closing() const noexcept { return closing_.load(std::memory_order_relaxed); }
  // Permits that lie in the pools, as last seen.
  std::int64_t held(std::int64_t now_ms) const;

 private:
  static constexpr std::size_t kMost = 4096;
  static constexpr std::int64_t kAfterTheEndMs = 300;  // so late a key that is asked for has told it itself
  struct Entry {
    Known known;
    std::int64_t live = 0;
    std::int64_t ends_ms = 0;
    std::int64_t due_ms = INT64_MAX;
  };

  mutable std::mutex mutex_;
  StringMap<Entry> entries_;
  std::int64_t next_due_ms_ = INT64_MAX;
  std::atomic<bool> closing_{false};
};

}  // namespace weir::store
