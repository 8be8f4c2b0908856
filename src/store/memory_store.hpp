// SPDX-License-Identifier: Apache-2.0
// Counters in this process: exact, shared by all workers, in bounded memory.
//
// A chain is decided under the locks of its slots, taken in the order of their addresses: judge all, charge
// all or none. When a bucket is full, a counter that equals a fresh one leaves, else the least recently used;
// what that one still owes goes to a sketch that is read when a key is made, so that eviction never refills.
// Slots in use by `concurrency` never leave. If nothing can leave, the request is decided on what the sketch
// knows of the key, and what it takes is noted there.
//
// Memory, with K = max_keys: ceil(K / 10) * 1024 bytes of buckets and slots, 4 * 8 * bit_ceil(K / 2) bytes of
// sketch, 64 bytes per distinct policy terms, and for each live counter of sliding_window 8 * (cells + 1), of
// sliding_log 8 * limit, of concurrency 24 * limit bytes (each may be up to twice that while it grows).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "store/counter_table.hpp"
#include "store/debt_sketch.hpp"
#include "store/terms_pool.hpp"
#include "weir/base/clock.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::store {

struct Seat;
struct Seating;

// What a counter looks like from outside, for those who have its key but not its policy.
struct Standing {
  limit::Terms terms;           // as of its last charge
  std::int64_t used = 0;        // permits that have not come back yet
  std::int64_t free_in_ms = 0;  // until all have
};

// Thread-safe: every member may be called from all threads at once. Rolling windows count on the clock's
// monotonic time, calendar windows on its wall time.
class MemoryStore final : public limit::CounterStore {
 public:
  // `clock` outlives the store.
  MemoryStore(std::size_t max_keys, const Clock& clock);
  ~MemoryStore() override;

  bool decide_now(limit::ChargeSet& set) override;  // always true
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;
  // peek without a coroutine.
  void look(limit::ChargeSet& set);
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

  // Makes the counter a fresh one; returns how many there were (0 or 1).
  std::size_t forget(std::string_view key);
  // nullopt: no such counter is in the table.
  std::optional<Standing> standing(std::string_view key);

  std::uint64_t evictions() const noexcept { return table_.evictions(); }
  // Counters in the table, fresh ones included.
  std::size_t live_keys() const noexcept { return table_.live(); }
  std::size_t memory_bytes() const noexcept;

 private:
  struct Now;
  class Eviction;

  Now now() const noexcept;
  limit::Request at(const limit::Charge& charge, const Now& now) const noexcept;
  // Applies a change to one counter, made if it is not there.
  template <class Change>
  void change(const limit::Charge& charge, const Change& apply);
  void take_seats(limit::ChargeSet& set, Seating& seating);
  bool take_at_once(Seating& seating, std::size_t last);
  void take_by_turns(limit::ChargeSet& set, Seating& seating);
  void make_seat(const limit::Charge& charge, const Now& now, Seat& seat);
  void open(const limit::Charge& charge, const Hash128& key, const Now& now,
            limit::CounterState& state) const;
  void use_terms(Slot& slot, const limit::Terms& terms);
  void leave_seats(limit::ChargeSet& set, const Now& now, Seating& seating);

  const Clock& clock_;
  std::uint64_t seed_;
  CounterTable table_;
  DebtSketch sketch_;
  TermsPool terms_;
  std::atomic<std::int64_t> more_bytes_{0};
};

}  // namespace weir::store
