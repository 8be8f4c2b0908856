// SPDX-License-Identifier: Apache-2.0
// Where counters live. Implementations: memory, Redis, and wrappers that decide what to do when Redis is ill.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>

#include "weir/limit/decision.hpp"

namespace weir::limit {

// Judges and charges a whole chain in one atomic step.
//
// All or nothing: if any enforcing charge is over its limit no counter changes (Accounting::relaxed: see
// there). A shadow charge never refuses; it is charged when its own verdict passes and the request is not
// refused. Every verdict is filled in, in the order of the charges. Nothing here throws.
//
// Threads: a store object belongs to one worker; the memory store may be called from all at once.
class CounterStore {
 public:
  virtual ~CounterStore() = default;

  // Decides without waiting if it can. Returns false, with the set untouched, if it has to wait.
  virtual bool decide_now(ChargeSet& set) = 0;

  // Decides, waiting where it must. On failure set.store_error is set and verdicts are not meaningful
  // (the wrapper above the shared store turns that into answers, so a chain never sees it).
  virtual boost::asio::awaitable<void> decide(ChargeSet& set) = 0;

  // The same, changing nothing: what would be answered now.
  virtual boost::asio::awaitable<void> peek(ChargeSet& set) = 0;

  // The rest never waits and never refuses; a shared store does it in the background.
  // settle: adds `delta` permits (may be negative) to every charged, non-concurrency layer of the set.
  virtual void settle(const ChargeSet& set, std::int64_t delta) = 0;
  // release / renew: the concurrency slots that the set holds.
  virtual void release(const ChargeSet& set) = 0;
  virtual void renew(const ChargeSet& set) = 0;
};

}  // namespace weir::limit
