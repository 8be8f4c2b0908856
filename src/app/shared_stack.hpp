// SPDX-License-Identifier: Apache-2.0
// One worker's stores over one shared Redis, outermost first: permits taken beforehand (LeaseStore, unless
// counting is exact), of a parent those that its region holds (PoolStore), one call a node in a cluster
// (SlotStore), what to do while it is ill (LadderStore), Redis itself. The first worker's also keeps the
// heartbeat of the process (FleetBeat), and looks at each server it connects to (StoreCheck).
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "redis/script_caller.hpp"
#include "store/fleet_beat.hpp"
#include "store/ladder_store.hpp"
#include "store/lease_store.hpp"
#include "store/memory_store.hpp"
#include "store/pool_store.hpp"
#include "store/redis_store.hpp"
#include "store/slot_store.hpp"
#include "store/store_check.hpp"
#include "weir/base/clock.hpp"
#include "weir/store/options.hpp"

namespace weir::app {

class SharedStack {
 public:
  // The store of a region, for its parent's stack.
  struct Region {
    std::shared_ptr<redis::ScriptCaller> caller;
    std::chrono::milliseconds timeout;
    store::RegionPools& pools;
  };
  // All outlive this.
  struct Parts {
    const store::StoreOptions& store;
    const std::string& node;
    std::size_t worker;
    store::MemoryStore& memory;
    store::FleetShare& fleet;
    const Clock& clock;
    store::LeasePool* leases;  // nullptr: every request is counted exactly
    const Region* region;      // of a parent store: who leases from it; else nullptr
  };
  // Begins to connect at once; serves with Redis absent.
  SharedStack(boost::asio::io_context& io, const Parts& parts);

  limit::CounterStore& top() noexcept;

  // On the worker's thread; StoreStack says what each does.
  void leave_fleet(store::FleetBeat::Left left = {});
  void close();

  // Where this store is reached, for the worker's thread.
  const std::shared_ptr<redis::ScriptCaller>& caller() const noexcept { return caller_; }
  // Their statistics are readable from any thread.
  const store::RedisStore& redis() const noexcept { return *redis_; }
  const store::LadderStore& ladder() const noexcept { return *ladder_; }
  store::LeaseStore* leases() const noexcept { return leases_.get(); }      // nullptr: all is exact
  store::PoolStore* pool() const noexcept { return pool_.get(); }           // nullptr but of a parent
  const store::SlotStore* slots() const noexcept { return slots_.get(); }   // nullptr but in a cluster
  const store::FleetBeat* beat() const noexcept { return beat_.get(); }     // nullptr but on the first worker
  const store::StoreCheck* check() const noexcept { return check_.get(); }  // likewise
  bool nothing_on_its_way() const noexcept {
    return (leases_ == nullptr || leases_->idle()) && (pool_ == nullptr || pool_->idle());
  }

 private:
  std::shared_ptr<store::StoreCheck> check_;
  std::shared_ptr<redis::ScriptCaller> caller_;
  std::unique_ptr<store::RedisStore> redis_;
  std::shared_ptr<store::FleetBeat> beat_;
  std::unique_ptr<store::LadderStore> ladder_;
  std::unique_ptr<store::SlotStore> slots_;
  std::unique_ptr<store::UseTable> unused_uses_;  // what a fetcher takes is its region's, not its own
  std::unique_ptr<store::PoolStore> pool_;
  std::unique_ptr<store::LeaseStore> leases_;
};

}  // namespace weir::app
