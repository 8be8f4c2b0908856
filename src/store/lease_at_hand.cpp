// SPDX-License-Identifier: Apache-2.0
// What a LeaseStore answers without the store below: a refusal that is known, or permits that are all at
// hand.
#include <algorithm>
#include <array>
#include <optional>

#include "store/lease_store.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::kMaxLayers;

struct LeaseStore::Looks {
  std::array<Hash128, kMaxLayers> id;
  std::array<LeasePool::Look, kMaxLayers> look;
};

LeaseStore::Here LeaseStore::answer_here(ChargeSet& set, LeasePool::Arrival arrival) {
  const std::int64_t now_ms = clock_.monotonic_ms();
  Looks looks;
  bool ready = true;
  bool refused = false;
  for (std::size_t n = 0; n < set.size; ++n) {
    const Charge& charge = set.charge[n];
    if (charge.is_slot()) {
      ready = false;
      looks.look[n].verdict = {
          .within_limit = true, .limit = charge.policy->terms.limit, .remaining = charge.policy->terms.limit};
      continue;
    }
    looks.id[n] = pool_.id_of(charge.key);
    looks.look[n] = pool_.look(looks.id[n], charge, now_ms, arrival);
    const LeasePool::Answer answer = looks.look[n].answer;
    refused = refused || (answer == LeasePool::Answer::denied && charge.enforces());
    ready = ready && (answer == LeasePool::Answer::ready ||
                      (answer == LeasePool::Answer::denied && !charge.enforces()));
  }
  if (!refused && !(ready && take_all(set, looks, now_ms))) return Here::no;
  if (refused) refuse(set, looks);
  set.store_error = {};
  set.store_now_ms = pool_.store_now_ms(now_ms);
  return refused ? Here::refused : Here::allowed;
}

void LeaseStore::refuse(ChargeSet& set, const Looks& looks) {
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    charge.answered = Answered::store;
    charge.charged = false;
    charge.verdict = looks.look[n].verdict;
  }
}

bool LeaseStore::take_all(ChargeSet& set, const Looks& looks, std::int64_t now_ms) {
  std::array<std::optional<LeasePool::Taken>, kMaxLayers> taken;
  for (std::size_t n = 0; n < set.size; ++n) {
    if (looks.look[n].answer == LeasePool::Answer::denied) continue;
    taken[n] = pool_.take(looks.id[n], set.charge[n], now_ms, LeasePool::Use::now);
    if (taken[n]) continue;
    // Another worker was quicker.
    for (std::size_t m = 0; m < n; ++m) {
      if (taken[m]) pool_.give_back(looks.id[m], *taken[m], set.charge[m].request.cost);
    }
    return false;
  }
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    const auto& permits = taken[n];
    charge.answered = Answered::store;
    charge.charged = permits.has_value();
    charge.verdict = permits ? permits->verdict : looks.look[n].verdict;
    charge.request.now_ms = pool_.store_now_ms(now_ms);
    if (permits && permits->low) fetch(looks.id[n], charge, now_ms);
  }
  return true;
}

void LeaseStore::put_back(ChargeSet& set) {
  const std::int64_t now_ms = clock_.monotonic_ms();
  for (Charge& charge : set.charges()) {
    if (!charge.charged) continue;
    const std::int64_t cost = charge.request.cost;
    if (charge.answered == Answered::store) {
      pool_.put_back(pool_.id_of(charge.key), cost, now_ms);
    } else {
      ChargeSet one;
      one.charge[0] = charge;
      one.size = 1;
      one.store_now_ms = charge.request.now_ms;
      below_.settle(one, -cost);
    }
    charge.charged = false;
    charge.verdict.remaining =
        std::min(charge.verdict.remaining + cost, limit::capacity_of(charge.policy->terms));
  }
}

}  // namespace weir::store
