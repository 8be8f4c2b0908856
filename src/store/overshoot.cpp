// SPDX-License-Identifier: Apache-2.0
#include "store/overshoot.hpp"

#include <algorithm>
#include <array>

#include "store/lease_rules.hpp"

namespace weir::store {

using limit::FailureMode;
using limit::Policy;

namespace {

constexpr std::array<std::string_view, 6> kCountedNames{"in_process", "exact", "leased",
                                                        "local",      "allow", "deny"};

// What N instances let through in one window on their own.
std::int64_t of_all_shares(std::int64_t capacity, std::int64_t instances) {
  if (instances <= 1) return capacity;
  return std::min((6 * capacity + 4) / 5 + instances - 1, instances * capacity);
}

Overshoot bounded(std::int64_t permits, std::int64_t lasting, std::string_view why) {
  return {.permits = permits, .lasting = lasting, .why = why};
}

Overshoot unbounded(std::string_view why) {
  Overshoot worst;
  worst.why = why;
  return worst;
}

Overshoot in_process(const Policy& policy, const Circumstances& at) {
  if (policy.scope == limit::Scope::instance)
    return bounded(0, 0, "each process keeps the whole limit for itself: scope instance");
  if (at.store.instances <= 1) return bounded(0, 0, "one process counts everything");
  const std::int64_t others = static_cast<std::int64_t>(at.store.instances) - 1;
  const std::int64_t beyond = others * limit::capacity_of(policy.terms);
  return bounded(beyond, beyond, "store.kind memory: each of store.instances lets the whole limit through");
}

Overshoot leased(const Policy& policy, const Circumstances& at) {
  if (at.store.lease.debt_permille == 0)
    return bounded(0, 0, "permits are taken from the store before they are used");
  const std::int64_t debt = policy.terms.limit * at.store.lease.debt_permille / 1000;
  return bounded(debt, debt, "lease.debt: so many may pass ahead of the lease that pays for them");
}

Overshoot local(const Policy& policy, const Circumstances& at) {
  const std::int64_t capacity = limit::capacity_of(policy.terms);
  const std::int64_t all = of_all_shares(capacity, static_cast<std::int64_t>(at.instances));
  return bounded(
      all, all - capacity,
      at.instances <= 1
          ? "this instance counts alone: the limit once more in the window in which the store falls ill "
            "or comes back, nothing beyond it in the others"
          : "each instance counts 1.2 times its share: the shares come on top of the store's count in the "
            "window in which it falls ill or comes back, in the others they are all");
}

Overshoot by_count(const Policy& policy, const Circumstances& at, Counted counted) {
  switch (counted) {
    case Counted::in_process:
      return in_process(policy, at);
    case Counted::exact:
      return bounded(0, 0, "each request is judged and charged in one step of the store");
    case Counted::leased:
      return leased(policy, at);
    case Counted::local:
      return local(policy, at);
    case Counted::allow:
      return unbounded("on_store_failure allow: everything passes, nothing is counted");
    case Counted::deny:
      return bounded(0, 0, "on_store_failure deny: nothing passes");
  }
  return {};
}

Counted of_mode(FailureMode mode) {
  if (mode == FailureMode::allow) return Counted::allow;
  return mode == FailureMode::deny ? Counted::deny : Counted::local;
}

bool is_the_stores(Counted counted) {
  return counted == Counted::exact || counted == Counted::leased;
}

}  // namespace

std::string_view name_of(Counted counted) noexcept {
  return kCountedNames[static_cast<std::size_t>(counted)];
}

Counted counted_now(const Policy& policy, const Circumstances& at) noexcept {
  if (policy.scope == limit::Scope::instance || at.store.kind == StoreKind::memory)
    return Counted::in_process;
  if (at.health == StoreHealth::brief) return of_mode(policy.on_brief_failure);
  if (at.health == StoreHealth::long_failure) return of_mode(policy.on_long_failure);
  const bool leases = at.store.lease.counting != Counting::exact && can_lease(policy.terms) &&
                      at.accounting == limit::Accounting::all_or_none;
  return leases ? Counted::leased : Counted::exact;
}

Overshoot worst_overshoot(const Policy& policy, const Circumstances& at) noexcept {
  const Counted counted = counted_now(policy, at);
  Overshoot worst = by_count(policy, at, counted);
  if (policy.enforcement == limit::Enforcement::shadow) {
    worst = unbounded("mode shadow: it refuses nobody");
  } else if (policy.enforce_percent < 100) {
    worst = unbounded("enforce_percent: it refuses some keys only");
  } else if (at.memory == StoreMemory::lost && is_the_stores(counted)) {
    *worst.permits += limit::capacity_of(policy.terms);
    const bool told =
        counted == Counted::leased && policy.terms.algorithm == limit::AlgorithmKind::fixed_window;
    worst.why =
        told ? "what was used of the running window is forgotten with the store's data; gateways with leases "
               "tell it what they last saw used, which leaves a few percent of a hot key's limit"
             : "what was used of the running window is forgotten with the store's data";
  }
  worst.counted = counted;
  return worst;
}

}  // namespace weir::store
