// SPDX-License-Identifier: Apache-2.0
#include "store/region_store.hpp"

#include <cstdint>

namespace weir::store {

using limit::Charge;
using limit::ChargeSet;

namespace {

void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace

RegionStore::RegionStore(limit::CounterStore& region, LeaseStore& parent)
    : region_(region), parent_(parent) {}

bool RegionStore::decide_now(ChargeSet& set) {
  const std::size_t global = layers_of(set, limit::Scope::global);
  if (global == 0) return region_.decide_now(set);
  return global == set.size && parent_.decide_now(set);
}

boost::asio::awaitable<void> RegionStore::decide(ChargeSet& set) {
  const std::size_t all_global = layers_of(set, limit::Scope::global);
  if (all_global == 0) co_return co_await region_.decide(set);
  if (all_global == set.size) co_return co_await parent_.decide(set);
  const ChainHalvesPool::Borrowed halves(halves_, set);
  ChainPart& region = halves->main;
  ChainPart& global = halves->apart;
  const bool at_hand = parent_.decide_now(global.set);
  add(at_hand ? stats_.at_hand : stats_.asked);
  if (at_hand && global.refuses()) {
    region.leave_unasked();
    halves->join(set);
    co_return;
  }
  if (!region_.decide_now(region.set)) co_await region_.decide(region.set);
  const bool region_refuses = region.set.store_error || region.refuses();
  if (region_refuses && at_hand) {
    parent_.put_back(global.set);
  } else if (region_refuses) {
    global.leave_unasked();
  } else if (!at_hand) {
    co_await parent_.decide(global.set);
    if (global.set.store_error || global.refuses()) give_back_region(region.set);
  }
  halves->join(set);
}

// What can be given back without a call is; the rest is waste.
void RegionStore::give_back_region(ChargeSet& region) {
  if (region.accounting == limit::Accounting::relaxed) return;
  for (Charge& charge : region.charges()) {
    if (!charge.charged) continue;
    if (!charge.is_slot() && charge.answered != limit::Answered::local) {
      add(stats_.wasted, static_cast<std::uint64_t>(charge.request.cost));
      continue;
    }
    ChargeSet one;
    one.charge[0] = charge;
    one.size = 1;
    one.store_now_ms = charge.request.now_ms;
    region_.release(one);
    if (!charge.is_slot()) region_.settle(one, -charge.request.cost);
    charge.charged = false;
  }
}

boost::asio::awaitable<void> RegionStore::peek(ChargeSet& set) {
  const ChainHalvesPool::Borrowed halves(halves_, set);
  if (halves->main.set.size > 0) co_await region_.peek(halves->main.set);
  if (halves->apart.set.size > 0) co_await parent_.peek(halves->apart.set);
  halves->join(set);
}

void RegionStore::settle(const ChargeSet& set, std::int64_t delta) {
  const ChainHalvesPool::Borrowed halves(halves_, set);
  if (halves->main.set.size > 0) region_.settle(halves->main.set, delta);
  if (halves->apart.set.size > 0) parent_.settle(halves->apart.set, delta);
}

void RegionStore::release(const ChargeSet& set) {
  const ChainHalvesPool::Borrowed halves(halves_, set);
  if (halves->main.set.size > 0) region_.release(halves->main.set);
}

void RegionStore::renew(const ChargeSet& set) {
  const ChainHalvesPool::Borrowed halves(halves_, set);
  if (halves->main.set.size > 0) region_.renew(halves->main.set);
}

}  // namespace weir::store
