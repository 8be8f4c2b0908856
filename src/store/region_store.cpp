// SPDX-License-Identifier: Apache-2.0
#include "store/region_store.hpp"

#include <algorithm>
#include <cstdint>

#include "store/chain_part.hpp"

namespace weir::store {

using limit::Charge;
using limit::ChargeSet;

namespace {

bool is_global(const Charge& charge) {
  return charge.policy->scope == limit::Scope::global;
}

std::size_t global_layers(const ChargeSet& set) {
  return static_cast<std::size_t>(std::ranges::count_if(set.charges(), is_global));
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace

struct RegionStore::Halves {
  ChainPart region;
  ChainPart global;

  void split(const ChargeSet& whole) {
    region.set.clear();
    global.set.clear();
    region.set.accounting = global.set.accounting = whole.accounting;
    for (std::size_t n = 0; n < whole.size; ++n) {
      ChainPart& part = is_global(whole.charge[n]) ? global : region;
      part.add(whole.charge[n], n);
    }
    // Settling refers to the moment of the charge by the clock of the store that made it.
    region.set.store_now_ms = whole.store_now_ms;
    if (global.set.size > 0) global.set.store_now_ms = global.set.charge[0].request.now_ms;
  }
  void join(ChargeSet& whole) const {
    region.copy_answers(whole);
    global.copy_answers(whole);
    whole.store_now_ms = region.set.store_now_ms;
    whole.store_error = region.set.store_error ? region.set.store_error : global.set.store_error;
  }
};

class RegionStore::Borrowed {
 public:
  Borrowed(std::vector<std::unique_ptr<Halves>>& pool, const ChargeSet& whole) : pool_(pool) {
    if (pool_.empty()) pool_.push_back(std::make_unique<Halves>());
    halves_ = std::move(pool_.back());
    pool_.pop_back();
    halves_->split(whole);
  }
  ~Borrowed() { pool_.push_back(std::move(halves_)); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Halves* operator->() const { return halves_.get(); }

 private:
  std::vector<std::unique_ptr<Halves>>& pool_;
  std::unique_ptr<Halves> halves_;
};

RegionStore::RegionStore(limit::CounterStore& region, LeaseStore& parent)
    : region_(region), parent_(parent) {}

RegionStore::~RegionStore() = default;

bool RegionStore::decide_now(ChargeSet& set) {
  const std::size_t global = global_layers(set);
  if (global == 0) return region_.decide_now(set);
  return global == set.size && parent_.decide_now(set);
}

boost::asio::awaitable<void> RegionStore::decide(ChargeSet& set) {
  const std::size_t all_global = global_layers(set);
  if (all_global == 0) co_return co_await region_.decide(set);
  if (all_global == set.size) co_return co_await parent_.decide(set);
  const Borrowed halves(spare_, set);
  ChainPart& region = halves->region;
  ChainPart& global = halves->global;
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
    const bool is_slot = charge.policy->terms.algorithm == limit::AlgorithmKind::concurrency;
    if (!is_slot && charge.answered != limit::Answered::local) {
      add(stats_.wasted, static_cast<std::uint64_t>(charge.request.cost));
      continue;
    }
    ChargeSet one;
    one.charge[0] = charge;
    one.size = 1;
    one.store_now_ms = charge.request.now_ms;
    region_.release(one);
    if (!is_slot) region_.settle(one, -charge.request.cost);
    charge.charged = false;
  }
}

boost::asio::awaitable<void> RegionStore::peek(ChargeSet& set) {
  const Borrowed halves(spare_, set);
  if (halves->region.set.size > 0) co_await region_.peek(halves->region.set);
  if (halves->global.set.size > 0) co_await parent_.peek(halves->global.set);
  halves->join(set);
}

void RegionStore::settle(const ChargeSet& set, std::int64_t delta) {
  const Borrowed halves(spare_, set);
  if (halves->region.set.size > 0) region_.settle(halves->region.set, delta);
  if (halves->global.set.size > 0) parent_.settle(halves->global.set, delta);
}

void RegionStore::release(const ChargeSet& set) {
  const Borrowed halves(spare_, set);
  if (halves->region.set.size > 0) region_.release(halves->region.set);
}

void RegionStore::renew(const ChargeSet& set) {
  const Borrowed halves(spare_, set);
  if (halves->region.set.size > 0) region_.renew(halves->region.set);
}

}  // namespace weir::store
