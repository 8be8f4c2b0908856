// SPDX-License-Identifier: Apache-2.0
// By how much a layer may let through more than its limit, at worst: what the admin port promises for each
// layer, and what the tests hold it to. Pure.
//
// Counted are the permits of all who share the counter, in one window as its algorithm counts windows (of
// bucket kinds: beyond the burst and what refills; of concurrency: in flight at once), of requests that cost
// 1 permit each.
//
//   in_process, exact   nothing beyond: judged and charged in one step
//   leased              nothing beyond, but what `lease.debt` lets through ahead of its lease
//   local               N instances with 1.2 / N of the limit each, every part rounded up: together
//                       1.2 x limit + N - 1, at most N x limit; one instance alone has the limit itself. In
//                       the window in which the store fell ill or came back, the store's own count comes on
//                       top. That holds while the traffic is split as it was, and the same instances live
//   allow               no bound
//   deny                nothing passes
//
// A store that forgets (a fail-over before its last writes were copied, a restart without its data) gives
// what was used of the running window back, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/ladder_store.hpp"
#include "weir/limit/decision.hpp"
#include "weir/store/options.hpp"

namespace weir::store {

// How a layer's requests are counted.
enum class Counted : std::uint8_t {
  in_process,  // in this process's memory, for good
  exact,       // by the store, request by request
  leased,      // by the store; keys that are seen often, out of permits taken beforehand
  local,       // the store is ill: in this process, with its share of the limit
  allow,       // the store is ill: not at all, everything passes
  deny,        // the store is ill: nothing passes
};
std::string_view name_of(Counted counted) noexcept;

enum class StoreMemory : std::uint8_t { kept, lost };

struct Circumstances {
  const StoreOptions& store;  // the one that the layer's scope names
  limit::Accounting accounting = limit::Accounting::all_or_none;
  std::size_t instances = 1;  // that share the counters, at least 1
  StoreHealth health = StoreHealth::healthy;
  StoreMemory memory = StoreMemory::kept;
};

struct Overshoot {
  Counted counted = Counted::exact;
  // nullopt: there is no bound.
  std::optional<std::int64_t> permits;  // in the worst window, the one in which this began or ended
  std::optional<std::int64_t> lasting;  // in each window between
  std::string_view why;
};

Counted counted_now(const limit::Policy& policy, const Circumstances& at) noexcept;
Overshoot worst_overshoot(const limit::Policy& policy, const Circumstances& at) noexcept;

}  // namespace weir::store
