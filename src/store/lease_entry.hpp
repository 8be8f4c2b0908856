// SPDX-License-Identifier: Apache-2.0
// What a LeasePool remembers of one key. Seen by the pool's own sources only; guarded by the group's mutex.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "store/lease_pool.hpp"
#include "store/lease_rates.hpp"

namespace weir::store {

// A call whose answer never came does not block its key for longer.
inline constexpr std::int64_t kCallLostMs = 2000;

// Permits that one call brought.
struct LeaseBatch {
  std::int64_t permits = 0;
  std::int64_t used = 0;  // and not reported yet
  std::int64_t charged_at_ms = 0;
  std::int64_t ends_ms = 0;
};

// Adds to a report of one moment; what is of another moment and smaller is not reported (the store then
// believes it unused for longer).
inline void merge(limit::Lease::Spent& into, const limit::Lease::Spent& more) {
  if (more.count == 0) return;
  if (into.count > 0 && into.at_ms == more.at_ms) {
    into.count += more.count;
  } else if (more.count >= into.count) {
    into = more;
  }
}

struct LeasePool::Entry {
  Hash128 id;
  std::int64_t touched_ms = 0;  // 0: empty
  Rate rate;
  FleetRate fleet;
  limit::Terms terms;

  std::array<LeaseBatch, 2> batch;            // the first is spent first
  limit::Lease::Spent used;                   // of batches that are gone
  std::array<limit::Lease::Spent, 2> unused;  // likewise, to be given back
  limit::Lease::Seen seen;                    // by the last lease call
  std::int64_t seen_ms = 0;                   // when its answer came
  std::int64_t debt = 0;                      // passed on credit, and not charged yet
  std::int64_t last_granted = 0;
  std::int64_t called_ms = 0;   // a lease call is under way since; 0: none
  bool looking = false;         // when it began nothing was left: it looks whether permits have come back
  std::int64_t planned_ms = 0;  // when the last one began; 0: there was none

  std::int64_t heard_ms = 0;  // 0: nothing was heard of the store
  std::int64_t remaining = 0;
  std::int64_t reset_at_ms = 0;
  std::int64_t tag_ends_ms = 0;  // kForever: not known, or none
  std::int64_t denied_until_ms = 0;
  std::int64_t denied_cost = 0;
  std::int64_t retry_at_ms = 0;

  limit::Request request;  // offset and bounds of the last lease
  std::string key;

  std::int64_t to_give_back() const { return unused[0].count + unused[1].count; }
  std::int64_t permits() const { return batch[0].permits + batch[1].permits; }
  bool calling(std::int64_t now_ms) const { return called_ms > 0 && now_ms - called_ms < kCallLostMs; }
  void deny(std::int64_t cost, std::int64_t retry_ms, std::int64_t now_ms) {
    denied_cost = cost;
    retry_at_ms = now_ms + retry_ms;
    denied_until_ms = now_ms + std::min(retry_ms, kDenialMs);
  }
};

struct LeasePool::Group {
  std::mutex mutex;
  std::array<Entry, kWays> entry;
};

}  // namespace weir::store
