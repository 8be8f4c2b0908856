// SPDX-License-Identifier: Apache-2.0
// The label values that one label may take: those the configuration names, up to a cap, and `other` for all
// else. What clients send can therefore never add a time series (scenario C43).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.hpp"

namespace weir::telemetry {

// Grows only; an index keeps its meaning for the process's life, so counters survive reloads. find() is free
// of locks and may run on every worker while add() runs on another thread.
class NameSet {
 public:
  explicit NameSet(std::size_t cap);

  void add(std::span<const std::string> names);

  // 0 .. cap-1, or cap for what is not in the set.
  std::size_t find(std::string_view name) const noexcept;
  std::size_t cap() const noexcept { return cap_; }
  // By index. The view is of a table that lives as long as this.
  std::span<const std::string> names() const noexcept { return current()->names; }

 private:
  struct Table {
    StringMap<std::size_t> index;
    std::vector<std::string> names;
  };
  const Table* current() const noexcept { return current_.load(std::memory_order_acquire); }

  const std::size_t cap_;
  std::mutex mutex_;
  // Readers hold no reference, so old tables stay; each holds at least one name more than the one before,
  // hence there are at most cap of them.
  std::vector<std::unique_ptr<const Table>> tables_;
  std::atomic<const Table*> current_;
};

}  // namespace weir::telemetry
