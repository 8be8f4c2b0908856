// SPDX-License-Identifier: Apache-2.0
// A chain in two parts, for stores that split it between two others: the layers of one scope apart, and all
// others. One per worker.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "store/chain_part.hpp"
#include "store/spares.hpp"

namespace weir::store {

inline std::size_t layers_of(const limit::ChargeSet& set, limit::Scope scope) {
  return static_cast<std::size_t>(std::ranges::count_if(
      set.charges(), [scope](const limit::Charge& charge) { return charge.policy->scope == scope; }));
}

struct ChainHalves {
  ChainPart main;   // its store's clock and error are the chain's
  ChainPart apart;  // the layers of the scope

  void split(const limit::ChargeSet& whole, limit::Scope scope) {
    main.set.clear();
    apart.set.clear();
    main.set.accounting = apart.set.accounting = whole.accounting;
    for (std::size_t n = 0; n < whole.size; ++n) {
      ChainPart& part = whole.charge[n].policy->scope == scope ? apart : main;
      part.add(whole.charge[n], n);
    }
    // Settling refers to the moment of the charge by the clock of the store that made it.
    main.set.store_now_ms = whole.store_now_ms;
    if (apart.set.size > 0) apart.set.store_now_ms = apart.set.charge[0].request.now_ms;
  }
  void join(limit::ChargeSet& whole) const {
    main.copy_answers(whole);
    apart.copy_answers(whole);
    whole.store_now_ms = main.set.store_now_ms;
    whole.store_error = main.set.store_error ? main.set.store_error : apart.set.store_error;
  }
};

class ChainHalvesPool {
 public:
  explicit ChainHalvesPool(limit::Scope scope) noexcept : scope_(scope) {}

  class Borrowed {
   public:
    Borrowed(ChainHalvesPool& pool, const limit::ChargeSet& whole)
        : pool_(pool), halves_(pool.spares_.take()) {
      halves_->split(whole, pool_.scope_);
    }
    ~Borrowed() { pool_.spares_.give_back(std::move(halves_)); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ChainHalves* operator->() const { return halves_.get(); }

   private:
    ChainHalvesPool& pool_;
    std::unique_ptr<ChainHalves> halves_;
  };

 private:
  limit::Scope scope_;
  Spares<ChainHalves> spares_;
};

}  // namespace weir::store
