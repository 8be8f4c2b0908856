// SPDX-License-Identifier: Apache-2.0
// What counters owed when they had to leave a full table, in fixed memory. Rows of cells as in a count-min
// sketch, but with the maximum in place of the sum: a cell holds the largest debt, and the latest end, of all
// keys that hash to it; a key's answer is the smallest of its cells. So an answer is never below what the key
// owed, and above it only where keys collide in every row. (A key that inherits a stranger's debt hands it on
// when it leaves: with N evictions within a window, in rows of M cells, an answer may be some N / M too
// high.)
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "weir/limit/algorithm.hpp"

namespace weir::store {

// Thread-safe, lock-free. All times are on one clock that never runs back.
class DebtSketch {
 public:
  // For a table of `keys`: 4 rows of bit_ceil(keys / 2) cells (at least 64) of 8 bytes each.
  explicit DebtSketch(std::size_t keys);

  // debt.used below 2^51.
  void add(const Hash128& key, const limit::Debt& debt, std::int64_t now_ms) noexcept;

  // used == 0: nothing is owed at `now_ms`. Rounded up: `used` by less than one part in a million, `until_ms`
  // to 64 ms.
  limit::Debt of(const Hash128& key, std::int64_t now_ms) const noexcept;

  std::size_t memory_bytes() const noexcept { return cells_.size() * sizeof(std::atomic<std::uint64_t>); }

 private:
  static constexpr std::size_t kRows = 4;
  std::size_t place(const Hash128& key, std::size_t row) const noexcept;

  unsigned bits_;
  std::vector<std::atomic<std::uint64_t>> cells_;
};

}  // namespace weir::store
