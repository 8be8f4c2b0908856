// SPDX-License-Identifier: Apache-2.0
// Where time comes from. Injected everywhere, so that tests decide what time it is.
#pragma once

#include <cstdint>

namespace weir {

// Milliseconds are the unit of every limiter. Thread-safe; neither call ever throws or blocks.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never runs backwards while the process lives. Its zero is arbitrary (not the epoch).
  virtual std::int64_t monotonic_ms() const noexcept = 0;

  // Milliseconds since the Unix epoch, as the host believes; may step. Calendar windows, log lines and
  // the legacy epoch reset field use it, nothing else.
  virtual std::int64_t wall_ms() const noexcept = 0;
};

// The process's real clocks.
const Clock& system_clock() noexcept;

}  // namespace weir
