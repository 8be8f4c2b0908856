// SPDX-License-Identifier: Apache-2.0
#include "app/store_stack.hpp"

namespace weir::app {

StoreStack::StoreStack(boost::asio::io_context& io, const Options& options, const Shared& shared)
    : top_(&shared.memory) {
  if (options.store.kind == store::StoreKind::memory) return;
  if (options.worker == 0) check_ = std::make_shared<store::StoreCheck>();
  caller_ = store::make_caller(io.get_executor(), options.store, check_);
  redis_ = std::make_unique<store::RedisStore>(caller_, options.store.timeout);
  if (options.worker == 0) {
    store::FleetBeatOptions beat;
    beat.node = options.node;
    beat_ = std::make_shared<store::FleetBeat>(caller_, shared.fleet, shared.clock, std::move(beat));
    beat_->start();
  }
  store::LadderStore::Options ladder;
  ladder.long_after = options.store.long_after;
  ladder_ = std::make_unique<store::LadderStore>(
      ladder, store::LadderStore::Parts{*redis_, shared.memory, shared.clock, shared.fleet,
                                        shared.fleet.uses(options.worker), io.get_executor(),
                                        caller_->sharded() ? caller_.get() : nullptr});
  limit::CounterStore* fleet = ladder_.get();
  if (caller_->sharded()) {
    slots_ = std::make_unique<store::SlotStore>(*fleet, io.get_executor());
    fleet = slots_.get();
  }
  if (shared.leases != nullptr) {
    leases_ = std::make_unique<store::LeaseStore>(io.get_executor(), *shared.leases, *fleet, shared.clock);
    fleet = leases_.get();
  }
  scope_ = std::make_unique<store::ScopeStore>(shared.memory, *fleet);
  top_ = scope_.get();
}

void StoreStack::leave_fleet() {
  if (leases_) leases_->drain();
  if (beat_) beat_->leave();
}

void StoreStack::close() {
  if (beat_) beat_->stop();
  if (leases_) leases_->close();
  if (caller_) caller_->close();
}

}  // namespace weir::app
