// SPDX-License-Identifier: Apache-2.0
// A part of a chain, for stores that split it between others: the charges alone, their keys stay in the
// whole.
#pragma once

#include <array>
#include <cstdint>

#include "weir/limit/counter_store.hpp"

namespace weir::store {

struct ChainPart {
  limit::ChargeSet set;
  std::array<std::uint8_t, limit::kMaxLayers> origin;  // of each charge, its place in the whole

  void add(const limit::Charge& charge, std::size_t from) {
    origin[set.size] = static_cast<std::uint8_t>(from);
    set.charge[set.size++] = charge;
  }
  void copy_answers(limit::ChargeSet& whole) const {
    for (std::size_t n = 0; n < set.size; ++n) whole.charge[origin[n]] = set.charge[n];
  }
  // Where in the whole chain this part refuses first; kMaxLayers: nowhere.
  std::size_t first_refusal() const {
    for (std::size_t n = 0; n < set.size; ++n) {
      if (set.charge[n].refuses()) return origin[n];
    }
    return limit::kMaxLayers;
  }
  bool refuses() const { return first_refusal() < limit::kMaxLayers; }
  // Layers from the n-th on read as they do when nobody was asked: untouched.
  void leave_unasked(std::size_t n = 0) {
    for (; n < set.size; ++n) {
      limit::Charge& charge = set.charge[n];
      const limit::Terms& terms = charge.policy->terms;
      charge.charged = false;
      charge.answered = limit::Answered::store;
      charge.verdict = {.within_limit = true, .limit = terms.limit, .remaining = limit::capacity_of(terms)};
    }
  }
};

}  // namespace weir::store
