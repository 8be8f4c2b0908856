// SPDX-License-Identifier: Apache-2.0
#include "app/store_stack.hpp"

namespace weir::app {

StoreStack::StoreStack(boost::asio::io_context& io, const Options& options, const Shared& shared)
    : top_(&shared.memory) {
  if (options.store.kind == store::StoreKind::memory) return;
  const auto over = [&](const store::StoreOptions& store, store::FleetShare& fleet, store::LeasePool* leases,
                        const SharedStack::Region* region) {
    return std::make_unique<SharedStack>(
        io, SharedStack::Parts{store, options.node, options.worker, shared.memory, fleet, shared.clock,
                               leases, region});
  };
  own_ = over(options.store, shared.fleet, shared.leases, nullptr);
  limit::CounterStore* fleet = &own_->top();
  if (shared.parent_leases != nullptr) {
    const SharedStack::Region region{own_->caller(), options.store.timeout, *shared.pools};
    parent_ = over(*options.store.parent, *shared.all_regions, shared.parent_leases, &region);
    region_ = std::make_unique<store::RegionStore>(*fleet, *parent_->leases());
    fleet = region_.get();
  }
  scope_ = std::make_unique<store::ScopeStore>(shared.memory, *fleet);
  top_ = scope_.get();
}

std::shared_ptr<redis::ScriptCaller> StoreStack::caller(limit::Scope scope) const {
  if (scope == limit::Scope::instance) return nullptr;
  const SharedStack* const stack = scope == limit::Scope::global ? parent_.get() : own_.get();
  return stack == nullptr ? nullptr : stack->caller();
}

void StoreStack::leave_fleet() {
  if (parent_) parent_->leave_fleet();
  if (!own_) return;
  const bool has_pool = parent_ != nullptr && own_->beat() != nullptr;
  own_->leave_fleet(has_pool ? parent_->pool()->when_left() : store::FleetBeat::Left());
}

void StoreStack::close() {
  if (parent_) parent_->close();
  if (own_) own_->close();
}

bool StoreStack::nothing_on_its_way() const noexcept {
  return (own_ == nullptr || own_->nothing_on_its_way()) &&
         (parent_ == nullptr || parent_->nothing_on_its_way());
}

}  // namespace weir::app
