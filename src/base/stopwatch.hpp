// SPDX-License-Identifier: Apache-2.0
// Microseconds for durations in logs and metrics. Limiters use weir::Clock instead.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

inline std::int64_t monotonic_us() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

}  // namespace weir
