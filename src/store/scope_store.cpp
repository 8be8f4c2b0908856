// SPDX-License-Identifier: Apache-2.0
#include "store/scope_store.hpp"

#include <algorithm>
#include <cstdint>

#include "store/chain_part.hpp"

namespace weir::store {

using limit::Accounting;
using limit::Charge;
using limit::ChargeSet;

namespace {

bool is_instance(const Charge& charge) {
  return charge.policy->scope == limit::Scope::instance;
}

std::size_t instance_layers(const ChargeSet& set) {
  return static_cast<std::size_t>(std::ranges::count_if(set.charges(), is_instance));
}

}  // namespace

struct ScopeStore::Halves {
  ChainPart instance;
  ChainPart fleet;

  void split(const ChargeSet& whole) {
    instance.set.clear();
    fleet.set.clear();
    instance.set.accounting = fleet.set.accounting = whole.accounting;
    for (std::size_t n = 0; n < whole.size; ++n) {
      ChainPart& part = is_instance(whole.charge[n]) ? instance : fleet;
      part.add(whole.charge[n], n);
    }
    // Settling refers to the moment of the charge by the clock of the store that made it.
    fleet.set.store_now_ms = whole.store_now_ms;
    if (instance.set.size > 0) instance.set.store_now_ms = instance.set.charge[0].request.now_ms;
  }
  void join(ChargeSet& whole) const {
    instance.copy_answers(whole);
    fleet.copy_answers(whole);
    whole.store_now_ms = fleet.set.store_now_ms;
    whole.store_error = fleet.set.store_error;
  }
};

class ScopeStore::Borrowed {
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

ScopeStore::ScopeStore(limit::CounterStore& memory, limit::CounterStore& fleet)
    : memory_(memory), fleet_(fleet) {}

ScopeStore::~ScopeStore() = default;

bool ScopeStore::decide_now(ChargeSet& set) {
  const std::size_t here = instance_layers(set);
  if (here == 0) return fleet_.decide_now(set);
  return here == set.size && memory_.decide_now(set);
}

boost::asio::awaitable<void> ScopeStore::decide(ChargeSet& set) {
  const std::size_t here = instance_layers(set);
  if (here == 0 || here == set.size) {
    limit::CounterStore& only = here == 0 ? fleet_ : memory_;
    co_return co_await only.decide(set);
  }
  const Borrowed halves(spare_, set);
  ChainPart& instance = halves->instance;
  ChainPart& fleet = halves->fleet;
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
  const Borrowed halves(spare_, set);
  if (halves->instance.set.size > 0) co_await memory_.peek(halves->instance.set);
  if (halves->fleet.set.size > 0) co_await fleet_.peek(halves->fleet.set);
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
  const Borrowed halves(spare_, set);
  memory_.settle(halves->instance.set, delta);
  fleet_.settle(halves->fleet.set, delta);
}

void ScopeStore::release(const ChargeSet& set) {
  const Borrowed halves(spare_, set);
  memory_.release(halves->instance.set);
  fleet_.release(halves->fleet.set);
}

void ScopeStore::renew(const ChargeSet& set) {
  const Borrowed halves(spare_, set);
  memory_.renew(halves->instance.set);
  fleet_.renew(halves->fleet.set);
}

}  // namespace weir::store
