// SPDX-License-Identifier: Apache-2.0
// The counter stores of one worker. Memory: the process's own store alone. Redis: layers that count per
// process (ScopeStore), then the shared store (SharedStack); with a parent, RegionStore between them, over
// both.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "app/shared_stack.hpp"
#include "store/region_store.hpp"
#include "store/scope_store.hpp"

namespace weir::app {

class StoreStack {
 public:
  struct Options {
    const store::StoreOptions& store;
    const std::string& node;
    std::size_t worker;
  };
  // What the workers share; all outlive this.
  struct Shared {
    store::MemoryStore& memory;
    store::FleetShare& fleet;
    const Clock& clock;
    store::LeasePool* leases;        // nullptr: every request is counted exactly
    store::FleetShare* all_regions;  // nullptr, all three: no parent
    store::LeasePool* parent_leases;
    store::RegionPools* pools;
  };
  // Begins to connect at once; serves with Redis absent.
  StoreStack(boost::asio::io_context& io, const Options& options, const Shared& shared);

  limit::CounterStore& top() noexcept { return *top_; }

  // On the worker's thread. leave_fleet: the others count without this instance, and what it holds unused
  // goes back; serving goes on, until it may end when nothing is on its way back any more. close: ends the
  // connections, so that the loop can end.
  void leave_fleet();
  void close();

  // Where counters of this scope are reached, for the worker's thread; nullptr: in memory.
  std::shared_ptr<redis::ScriptCaller> caller(limit::Scope scope = limit::Scope::fleet) const;
  // nullptr in memory mode. Their statistics are readable from any thread.
  const store::RedisStore* redis() const noexcept { return own_ ? &own_->redis() : nullptr; }
  const store::LeaseStore* leases() const noexcept { return own_ ? own_->leases() : nullptr; }
  const store::LadderStore* ladder() const noexcept { return own_ ? &own_->ladder() : nullptr; }
  const store::SlotStore* slots() const noexcept { return own_ ? own_->slots() : nullptr; }
  const store::FleetBeat* beat() const noexcept { return own_ ? own_->beat() : nullptr; }
  const store::StoreCheck* check() const noexcept { return own_ ? own_->check() : nullptr; }
  // nullptr: there is no parent.
  const SharedStack* parent() const noexcept { return parent_.get(); }
  const store::RegionStore* region() const noexcept { return region_.get(); }
  bool nothing_on_its_way() const noexcept;

 private:
  std::unique_ptr<SharedStack> own_;
  std::unique_ptr<SharedStack> parent_;
  std::unique_ptr<store::RegionStore> region_;
  std::unique_ptr<store::ScopeStore> scope_;
  limit::CounterStore* top_;
};

}  // namespace weir::app
