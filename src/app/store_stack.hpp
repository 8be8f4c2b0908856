// SPDX-License-Identifier: Apache-2.0
// The counter stores of one worker, outermost first. Memory: the process's own store alone. Redis: layers
// that count per process (ScopeStore), permits taken beforehand (LeaseStore, unless counting is exact), then
// what to do while Redis is ill (LadderStore), then Redis itself.
// The first worker's also keeps the heartbeat of the process (FleetBeat).
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "redis/script_caller.hpp"
#include "store/fleet_beat.hpp"
#include "store/ladder_store.hpp"
#include "store/lease_store.hpp"
#include "store/memory_store.hpp"
#include "store/redis_store.hpp"
#include "store/scope_store.hpp"
#include "store/slot_store.hpp"
#include "weir/base/clock.hpp"
#include "weir/store/options.hpp"

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
    store::LeasePool* leases;  // nullptr: every request is counted exactly
  };
  // Begins to connect at once; serves with Redis absent.
  StoreStack(boost::asio::io_context& io, const Options& options, const Shared& shared);

  limit::CounterStore& top() noexcept { return *top_; }

  // On the worker's thread. leave_fleet: the others count without this instance, and what it holds unused
  // goes back; serving goes on, until it may end when nothing is on its way back any more. close: ends the
  // connections, so that the loop can end.
  void leave_fleet();
  void close();

  // Where the worker's store is reached, for its thread; nullptr in memory mode.
  const std::shared_ptr<redis::ScriptCaller>& caller() const noexcept { return caller_; }
  // nullptr in memory mode. Their statistics are readable from any thread.
  const store::RedisStore* redis() const noexcept { return redis_.get(); }
  const store::LeaseStore* leases() const noexcept { return leases_.get(); }  // nullptr also if all is exact
  bool nothing_on_its_way() const noexcept { return leases_ == nullptr || leases_->idle(); }
  const store::LadderStore* ladder() const noexcept { return ladder_.get(); }
  // nullptr but in a cluster.
  const store::SlotStore* slots() const noexcept { return slots_.get(); }
  // nullptr but on the first worker.
  const store::FleetBeat* beat() const noexcept { return beat_.get(); }
  const store::StoreCheck* check() const noexcept { return check_.get(); }

 private:
  std::shared_ptr<store::StoreCheck> check_;
  std::shared_ptr<redis::ScriptCaller> caller_;
  std::unique_ptr<store::RedisStore> redis_;
  std::shared_ptr<store::FleetBeat> beat_;
  std::unique_ptr<store::LadderStore> ladder_;
  std::unique_ptr<store::SlotStore> slots_;
  std::unique_ptr<store::LeaseStore> leases_;
  std::unique_ptr<store::ScopeStore> scope_;
  limit::CounterStore* top_;
};

}  // namespace weir::app
