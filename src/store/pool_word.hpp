// SPDX-License-Identifier: Apache-2.0
// What a region asks its parent for, and what it makes of the answer. Pure.
//
// Why a region never spends more than it was granted, nor for longer: permits are charged at the parent
// before they are in the pool; a batch ends `ttl` (or what is left of the window or cell, by the parent's
// word) after a moment that the region's store read before the parent was asked; and only such durations go
// from one clock to another.
#pragma once

#include <cstdint>

#include "store/lease_rules.hpp"
#include "store/pool_call.hpp"

namespace weir::store {

// For lua/pool.lua. Moments are by the clock of the region's store, unless they are named otherwise.
struct PoolWord {
  std::int64_t permits = 0;
  std::int64_t at_ms = 0;    // parent's clock: when they were charged
  std::int64_t ends_ms = 0;  // of the batch
  std::int64_t worth = 1;    // 0: what is unused at its end is nothing any more, the window is over
  std::int64_t asked_ms = 0;
  std::int64_t remaining = 0;
  std::int64_t reset_ms = 0;
  std::int64_t tag_ends_ms = 0;  // of the window or cell; 0: none
  std::int64_t deny_ms = 0;      // until more is there; 0: there is some
  std::int64_t deny_cost = 0;    // for as many or more
  double fleet_rate = 0;
  limit::Lease::Seen seen;  // parent's clock
};

// How many permits to take, by what the region asks for, and what is reported with it.
limit::Lease lease_of(const limit::Terms& terms, const LeaseOptions& options, const PoolOrder& order);

// True if the parent has to be asked for that at all.
bool asks_anything(const limit::Lease& lease) noexcept;

// `answered`: the parent's answer, with the lease it was asked for, if any.
PoolWord word_of(const limit::Charge& answered, const LeaseOptions& options, const PoolOrder& order);

}  // namespace weir::store
