// SPDX-License-Identifier: Apache-2.0
// How many retries the requests of the last ten seconds pay for, so that an upstream that is ill gets a
// bounded amount of extra work. Each worker keeps the budget of its own requests: shares of parts make the
// same share of the whole. Pure; one thread only.
#pragma once

#include <array>
#include <cstdint>

namespace weir::upstream {

class RetryBudget {
 public:
  static constexpr std::int64_t kCellMs = 1000;
  static constexpr std::size_t kCells = 10;
  // So many are allowed in any case: a share of few requests would be none at all.
  static constexpr std::int64_t kAtLeast = 3;

  void request(std::int64_t now_ms) noexcept { ++cell(now_ms).requests; }
  // Takes one retry out of it. False: it is used up.
  bool spend(int percent, std::int64_t now_ms) noexcept;

 private:
  struct Cell {
    std::int64_t number = 0;  // of the second it counts
    std::int64_t requests = 0;
    std::int64_t retries = 0;
  };
  Cell& cell(std::int64_t now_ms) noexcept {
    const std::int64_t number = now_ms / kCellMs;
    Cell& one = cells_[static_cast<std::size_t>(number) % kCells];
    if (one.number != number) one = {number, 0, 0};
    return one;
  }

  std::array<Cell, kCells> cells_{};
};

}  // namespace weir::upstream
