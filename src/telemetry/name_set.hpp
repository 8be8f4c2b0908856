// SPDX-License-Identifier: Apache-2.0
// The label values that one label may take: those the configuration names, up to a cap, and `other` for all
// else. What clients send can therefore never add a time series (scenario C43).
#pragma once

#include <array>
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
  // Changes when the set grows.
  const void* version() const noexcept { return current(); }
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

// Finds names in a set, and remembers those of the last requests: the same few come again and again. For one
// thread.
class NameMemo {
 public:
  explicit NameMemo(const NameSet& set) noexcept : set_(set) {}

  std::size_t find(std::string_view name) noexcept;  // as NameSet::find()

 private:
  static constexpr std::size_t kEntries = 16;
  static constexpr std::size_t kNameBytes = 47;  // longer names are not remembered
  struct Entry {
    const void* version = nullptr;  // of the set when it was asked; null: nothing is remembered
    std::uint16_t index = 0;
    std::uint8_t size = 0;
    char name[kNameBytes];
  };

  const NameSet& set_;
  std::array<Entry, kEntries> entries_;
};

}  // namespace weir::telemetry
