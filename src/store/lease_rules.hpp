// SPDX-License-Identifier: Apache-2.0
// The arithmetic of permit leases: what can be leased, for how long, and how many permits to ask for. Pure.
//
// Why a lease never lets more through than the limit:
//   fixed_window, sliding_counter   a lease ends with the window that its permits were charged to
//   sliding_window                  it ends with its cell, so that a permit is used in the cell that counts
//   it token_bucket, gcra              the store keeps the level below the burst by what is lent
//   (lua/lent.lua)
// In each case permits are charged before they are used. sliding_log (small limits), leaky_bucket (each
// permit has its own wait) and concurrency (each has its owner) are not leased.
#pragma once

#include <cstdint>

#include "weir/limit/decision.hpp"
#include "weir/store/options.hpp"

namespace weir::store {

inline constexpr std::int64_t kForever = INT64_MAX;

// A lease is counted from the moment its call was sent, which is before the store's `now`; what is left are
// the fractions of a millisecond that both clocks round away.
inline constexpr std::int64_t kLeaseGuardMs = 2;

// A denial is believed no longer than this.
inline constexpr std::int64_t kDenialMs = 1000;

bool can_lease(const limit::Terms& terms) noexcept;

// Buckets: the life of a lease; the same in all instances with the same options.
std::int64_t lease_life_ms(const limit::Terms& terms, const LeaseOptions& options) noexcept;

// From the store's `now` to the end of the window or cell that it just charged; kForever for buckets.
std::int64_t tag_ends_in_ms(const limit::Charge& charged) noexcept;

// What one process knows of a key.
struct Demand {
  double rate = 0;           // permits per second that are asked for here
  double fleet_rate = 0;     // permits per second that all instances take; 0: not known yet
  std::int64_t left_ms = 0;  // until the window or cell ends; kForever: never, or not known
};

// True if a process that asks this often should lease.
bool is_hot(const LeaseOptions& options, double rate) noexcept;
// From so many permits per second on; never if counting is exact.
double hot_rate(const LeaseOptions& options) noexcept;

// How many permits to take beyond a request's own. `more` 0: none, the key is counted exactly. By quota.md
// C.4: a lease lasts for about 40 requests (options.requests), 100 ms at least and max_age at most, and takes
// of what remains no more than this process's share of the fleet's traffic.
limit::Lease lease_to_ask(const limit::Terms& terms, const LeaseOptions& options,
                          const Demand& demand) noexcept;

// Where permits come back one by one (buckets, sliding_counter), an exhausted hot key is not asked for each
// of them: so long permits may gather, 30 requests or so of a bucket, which loses none, and 25 of a
// sliding_counter; never longer than a quarter of the burst needs, and half of what is left of a window (in
// left_ms; kForever: it never ends), since what nobody has taken and used by its end is lost. 0: for other
// algorithms, whose permits come back by the window or cell.
std::int64_t gathering_ms(const limit::Terms& terms, double rate, std::int64_t left_ms) noexcept;

// How many permits this process may pass ahead of the lease that is on its way, so that no request waits for
// it: its part of options.debt_permille of the limit, and no more than come in about 20 ms (quota.md C.4).
// `instances` that live: the parts of all of them are the whole debt. 0: not known, none may be passed.
std::int64_t credit(const limit::Terms& terms, const LeaseOptions& options, double rate,
                    std::size_t instances) noexcept;

// From how many left permits on the next lease is fetched.
std::int64_t low_mark(const LeaseOptions& options, double rate, std::int64_t last_granted) noexcept;

}  // namespace weir::store
