// SPDX-License-Identifier: Apache-2.0
// Counts that one thread writes and any thread reads: a plain load and store instead of a locked instruction,
// of which a proxied request would make a dozen (1 % of its time).
#pragma once

#include <atomic>
#include <type_traits>

namespace weir {

// The owning thread only. `change` may be negative.
template <class Number>
void add_own(std::atomic<Number>& count, std::type_identity_t<Number> change = 1) noexcept {
  count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

}  // namespace weir
