// SPDX-License-Identifier: Apache-2.0
#include "app/shared_stack.hpp"

#include <utility>

namespace weir::app {

SharedStack::SharedStack(boost::asio::io_context& io, const Parts& parts) {
  if (parts.worker == 0) check_ = std::make_shared<store::StoreCheck>();
  caller_ = store::make_caller(io.get_executor(), parts.store, check_);
  redis_ = std::make_unique<store::RedisStore>(caller_, parts.store.timeout);
  if (parts.worker == 0) {
    store::FleetBeatOptions beat;
    beat.node = parts.node;
    beat_ = std::make_shared<store::FleetBeat>(caller_, parts.fleet, parts.clock, std::move(beat));
    beat_->start();
  }
  store::LadderStore::Options ladder;
  ladder.long_after = parts.store.long_after;
  store::UseTable& uses = parts.fleet.uses(parts.worker);
  if (parts.region != nullptr) unused_uses_ = std::make_unique<store::UseTable>();
  ladder_ = std::make_unique<store::LadderStore>(
      ladder, store::LadderStore::Parts{*redis_, parts.memory, parts.clock, parts.fleet,
                                        parts.region == nullptr ? uses : *unused_uses_, io.get_executor(),
                                        caller_.get()});
  limit::CounterStore* below = ladder_.get();
  if (caller_->sharded()) {
    slots_ = std::make_unique<store::SlotStore>(*below, io.get_executor());
    below = slots_.get();
  }
  store::Renewed renewed = [caller = caller_.get()](std::string_view key, std::int64_t since_ms) {
    const redis::Slot slot = caller->sharded() ? redis::slot_of(key) : redis::Slot{0};
    return caller->came_up_after(slot, redis::TimePoint(std::chrono::milliseconds(since_ms)));
  };
  if (parts.region != nullptr) {
    // The pool alone asks the parent on behalf of many, and so is the one to tell it what it has lost.
    pool_ = std::make_unique<store::PoolStore>(store::PoolStore::Parts{
        parts.region->caller, parts.region->timeout, parts.store.timeout, *below, parts.clock,
        parts.store.lease, parts.region->pools, uses, std::exchange(renewed, {})});
    below = pool_.get();
  }
  if (parts.leases == nullptr) return;
  leases_ = std::make_unique<store::LeaseStore>(io.get_executor(), *parts.leases, *below, parts.clock,
                                                std::move(renewed));
}

limit::CounterStore& SharedStack::top() noexcept {
  if (leases_ != nullptr) return *leases_;
  if (pool_ != nullptr) return *pool_;
  if (slots_ != nullptr) return *slots_;
  return *ladder_;
}

void SharedStack::leave_fleet(store::FleetBeat::Left left) {
  if (pool_) pool_->drain();
  if (leases_) leases_->drain();
  if (beat_) beat_->leave(std::move(left));
}

void SharedStack::close() {
  if (beat_) beat_->stop();
  if (leases_) leases_->close();
  if (pool_) pool_->close();
  caller_->close();
}

}  // namespace weir::app
