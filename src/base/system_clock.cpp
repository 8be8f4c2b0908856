// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "weir/base/clock.hpp"

namespace weir {
namespace {

template <class StdClock>
std::int64_t now_ms() noexcept {
  const auto since = StdClock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

class SystemClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const noexcept override { return now_ms<std::chrono::steady_clock>(); }
  std::int64_t wall_ms() const noexcept override { return now_ms<std::chrono::system_clock>(); }
};

}  // namespace

const Clock& system_clock() noexcept {
  static const SystemClock clock;
  return clock;
}

}  // namespace weir
