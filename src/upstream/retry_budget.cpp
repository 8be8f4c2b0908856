// SPDX-License-Identifier: Apache-2.0
#include "upstream/retry_budget.hpp"

#include <algorithm>

namespace weir::upstream {

bool RetryBudget::spend(int percent, std::int64_t now_ms) noexcept {
  Cell& current = cell(now_ms);
  const std::int64_t oldest = current.number - static_cast<std::int64_t>(kCells) + 1;
  std::int64_t requests = 0;
  std::int64_t retries = 0;
  for (const Cell& one : cells_) {
    if (one.number < oldest || one.number > current.number) continue;
    requests += one.requests;
    retries += one.retries;
  }
  const std::int64_t allowed = percent == 0 ? 0 : std::max(kAtLeast, requests * percent / 100);
  if (retries >= allowed) return false;
  ++current.retries;
  return true;
}

}  // namespace weir::upstream
