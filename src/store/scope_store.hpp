// SPDX-License-Identifier: Apache-2.0
// Splits a chain between this process and the fleet: layers whose policy says `scope: instance` are counted
// in memory, all others by the store below. A set of one kind goes straight through.
//
// A mixed set asks memory first. If memory refuses, the fleet is not asked: a protecting layer must not cost
// the store a call for each request it refuses; the fleet layers then read as untouched (charged false,
// full). If the fleet refuses, what memory charged is given back in the process, at once and exactly. With
// relaxed accounting what stands before the first refusing layer stays charged, as far as that can be known
// before the fleet has answered.
//
// Threads: one per worker, over the worker's store and the process's memory store.
#pragma once

#include "store/chain_halves.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::store {

class ScopeStore final : public limit::CounterStore {
 public:
  // Both outlive this store. `memory` answers at once (decide_now is true).
  ScopeStore(limit::CounterStore& memory, limit::CounterStore& fleet);

  bool decide_now(limit::ChargeSet& set) override;  // false for a mixed set
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

 private:
  void give_back(const limit::ChargeSet& instance, std::size_t layer);

  limit::CounterStore& memory_;
  limit::CounterStore& fleet_;
  ChainHalvesPool halves_{limit::Scope::instance};
};

}  // namespace weir::store
