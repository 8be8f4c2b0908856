// SPDX-License-Identifier: Apache-2.0
#include "store/scope_store.hpp"

#include <cstdint>

namespace weir::store {

using limit::Accounting;
using limit::Charge;
using limit::ChargeSet;

ScopeStore::ScopeStore(limit::CounterStore& memory, limit::CounterStore& fleet)
    : memory_(memory), fleet_(fleet) {}

bool ScopeStore::decide_now(ChargeSet& set) {
  const std::size_t here = layers_of(set, limit::Scope::instance);
  if (here == 0) return fleet_.decide_now(set);
  return here == set.size && memory_.decide_now(set);
}

boost::asio::awaitable<void> ScopeStore::decide(ChargeSet& set) {
  const std::size_t here = layers_of(set, limit::Scope::instance);
  if (here == 0 || here == set.size) {
    limit::CounterStore& only = here == 0 ? fleet_ : memory_;
    co_return co_await only.decide(set);
  }
  const ChainHalvesPool::Borrowed halves(halves_, set);
  ChainPart& instance = halves->apart;
  ChainPart& fleet = halves->main;
  memory_.decide_now(instance.set);
  const std::size_t refused = instance.first_refusal();
  const bool relaxed = set.accounting == Accounting::relaxed;

  if (refused < limit::kMaxLayers) {
    // Relaxed: the fleet still charges the layers before the refusal. They are the first of its part.
    const std::size_t all = fleet.set.size;
    std::size_t asked = 0;
    while (relaxed && asked < all && fleet.origin[asked] < refused) ++asked;
    fleet.set.size = asked;
    if (asked > 0 && !fleet_.decide_now(fleet.set)) co_await fleet_.decide(fleet.set);
    fleet.set.size = all;
    fleet.leave_unasked(asked);
  } else if (!fleet_.decide_now(fleet.set)) {
    co_await fleet_.decide(fleet.set);
  }

  const std::size_t fleet_refused = fleet.set.store_error ? 0 : fleet.first_refusal();
  for (std::size_t n = 0; n < instance.set.size && fleet_refused < limit::kMaxLayers; ++n) {
    const bool kept = relaxed && instance.origin[n] < fleet_refused;
    if (instance.set.charge[n].charged && !kept) give_back(instance.set, n);
    if (!kept) instance.set.charge[n].charged = false;
  }
  halves->join(set);
}

boost::asio::awaitable<void> ScopeStore::peek(ChargeSet& set) {
  const ChainHalvesPool::Borrowed halves(halves_, set);
  if (halves->apart.set.size > 0) co_await memory_.peek(halves->apart.set);
  if (halves->main.set.size > 0) co_await fleet_.peek(halves->main.set);
  halves->join(set);
}

void ScopeStore::give_back(const ChargeSet& instance, std::size_t layer) {
  ChargeSet one;
  one.charge[0] = instance.charge[layer];
  one.size = 1;
  one.store_now_ms = one.charge[0].request.now_ms;
  memory_.release(one);
  memory_.settle(one, -one.charge[0].request.cost);
}

void ScopeStore::settle(const ChargeSet& set, std::int64_t delta) {
  const ChainHalvesPool::Borrowed halves(halves_, set);
  memory_.settle(halves->apart.set, delta);
  fleet_.settle(halves->main.set, delta);
}

void ScopeStore::release(const ChargeSet& set) {
  const ChainHalvesPool::Borrowed halves(halves_, set);
  memory_.release(halves->apart.set);
  fleet_.release(halves->main.set);
}

void ScopeStore::renew(const ChargeSet& set) {
  const ChainHalvesPool::Borrowed halves(halves_, set);
  memory_.renew(halves->apart.set);
  fleet_.renew(halves->main.set);
}

}  // namespace weir::store
