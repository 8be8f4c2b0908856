// SPDX-License-Identifier: Apache-2.0
// A fleet of gateways in one thread and on a clock of its own: the product's lease pool and lease store, one
// pair per instance, over a simulated network and one memory store that stands for Redis. Events happen in
// the order of their times; a run depends on its seed alone.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "store/lease_store.hpp"
#include "store/memory_store.hpp"
#include "weir/base/clock.hpp"

namespace weir::bench {

class SimulatedClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const noexcept override { return static_cast<std::int64_t>(now_ms); }
  std::int64_t wall_ms() const noexcept override { return monotonic_ms(); }
  double now_ms = 1'800'000'000'000;
};

// Whether a store that has lost its counters is told what its askers last saw used (limit::Lease::Seen).
enum class AfterLoss : std::uint8_t { silent, told };

// What is thrown at the fleet.
struct Load {
  std::size_t instances = 4;
  std::size_t keys = 1;
  double key_skew = 1.1;          // Zipf exponent over the keys
  double per_second = 1000;       // of all keys and instances
  double instance_skew = 0;       // Zipf exponent over the instances; 0: even
  std::int64_t reshuffle_ms = 0;  // how often the instances change places; 0: never
  std::int64_t for_ms = 30'000;
  double lost_replies = 0;         // share of store calls that are carried out and never answered
  std::int64_t kill_every_ms = 0;  // one instance after another dies, with its leases, and starts empty
  std::int64_t lose_every_ms =
      0;  // the store loses all counters, half such a time into the run for the first time
  AfterLoss after_loss = AfterLoss::told;
  unsigned seed = 1;
};

struct Outcome {
  std::int64_t offered = 0;
  std::int64_t allowed = 0;
  std::int64_t waited = 0;   // requests that waited for the store
  std::int64_t calls = 0;    // of the store, after the first window
  std::int64_t counted = 0;  // requests after the first window
  std::int64_t fetches = 0;  // calls of the whole run that fetched a lease ahead of need
  std::int64_t returns = 0;  // calls that gave unused permits back
  std::int64_t lent = 0;     // permits that all leases brought
  std::int64_t lapsed = 0;   // of them, those that nobody used and nobody got back
  double over_percent = 0;   // the worst window of any key
  double under_percent = 0;  // of what could have passed, over all full windows
};

// `policy`: a fixed window without offset is judged window by window; any other algorithm by every window of
// its length (over), and by the sum (under is then against `could_pass`, the allowed of an exact run; 0:
// unknown).
Outcome simulate(const limit::Policy& policy, const store::LeaseOptions& options, const Load& load,
                 std::int64_t could_pass = 0);

}  // namespace weir::bench
