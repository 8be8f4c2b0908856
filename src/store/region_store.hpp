// SPDX-License-Identifier: Apache-2.0
// Splits a chain between the store of this region and the parent store that all regions share: layers of
// scope `global` are counted there, all others here. A set of one kind goes straight through.
//
// The parent is far away, so its layers are counted out of permits that were taken from it beforehand (a
// LeaseStore above it, with longer and larger leases than a region's own). A mixed set takes those first, if
// they are at hand; a refusal that is known asks nobody. Then the region is asked; if it refuses, the
// parent's permits go back to where they were at hand, in the process. Only where none are at hand the parent
// is asked, last of all; what the region then charged for nothing stays charged, and is counted as waste.
//
// Threads: one per worker; stats() from any.
#pragma once

#include <atomic>

#include "store/chain_halves.hpp"
#include "store/lease_store.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::store {

struct RegionStats {
  std::atomic<std::uint64_t> at_hand{0};  // requests whose global layers needed no call
  std::atomic<std::uint64_t> asked{0};    // those that waited for the parent
  std::atomic<std::uint64_t> wasted{0};   // permits of the region that a refusal of the parent left charged
};

class RegionStore final : public limit::CounterStore {
 public:
  // Both outlive this store.
  RegionStore(limit::CounterStore& region, LeaseStore& parent);

  bool decide_now(limit::ChargeSet& set) override;  // false for a mixed set
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

  const RegionStats& stats() const noexcept { return stats_; }

 private:
  void give_back_region(limit::ChargeSet& region);

  limit::CounterStore& region_;
  LeaseStore& parent_;
  ChainHalvesPool halves_{limit::Scope::global};
  RegionStats stats_;
};

}  // namespace weir::store
