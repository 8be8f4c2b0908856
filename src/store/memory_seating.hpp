// SPDX-License-Identifier: Apache-2.0
// The counters of one chain while it is decided in memory. Seen by memory_store.cpp only.
#pragma once

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/counter_table.hpp"
#include "weir/limit/decision.hpp"

namespace weir::store {

// A counter on its way to being decided: a slot of the table, or for want of one a state on the heap.
struct Seat {
  Hash128 key;
  Slot* slot = nullptr;
  limit::CounterState* state = nullptr;
  std::int64_t bytes_before = 0;
  bool pinned = false;
};

struct Seating {
  boost::container::static_vector<Seat, limit::kMaxLayers> seat;
  boost::container::static_vector<Slot*, limit::kMaxLayers> locked;
  std::vector<std::unique_ptr<limit::CounterState>> without_slot;

  // Waits only while no other slot is held: false, if it would have to. Nobody can wait for each other so,
  // and whoever waits for the counter that all share finds the others free.
  bool lock_unless_stuck(Slot& slot) {
    if (!slot.try_lock()) {
      if (!locked.empty()) return false;
      slot.lock();
    }
    locked.push_back(&slot);
    return true;
  }

  // In the order of addresses, so that two who wait for each other's slots cannot be.
  void lock() {
    for (const Seat& each : seat) {
      if (each.slot == nullptr) continue;
      const auto place = std::lower_bound(locked.begin(), locked.end(), each.slot);
      if (place == locked.end() || *place != each.slot) locked.insert(place, each.slot);
    }
    for (Slot* slot : locked) slot->lock();
  }

  void unlock() {
    for (Slot* slot : locked) slot->unlock();
    locked.clear();
  }

  // Forgets the slots that went to other keys since they were looked up; true if there were none.
  bool all_hold() {
    bool all = true;
    for (Seat& each : seat) {
      if (each.slot == nullptr || each.slot->holds(each.key)) continue;
      each.slot = nullptr;
      all = false;
    }
    return all;
  }
};

}  // namespace weir::store
