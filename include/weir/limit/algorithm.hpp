// SPDX-License-Identifier: Apache-2.0
// The contract every algorithm meets, once in C++ (src/limit/algorithms/x.cpp) and once in Lua
// (lua/algorithms/x.lua). Pure: no clock, no I/O, no lock. tests/support/reference.py is the oracle of both:
// for the same trace all three give the same verdicts.
//
// Two phases, so that a chain can look at every layer before it charges any:
//   judge   looks; changes nothing
//   charge  takes the permits; only after a judge at the same `now` that passed
// A clock that steps back neither mints permits nor freezes a key: judge then reports `repair`, and the
// store writes the repaired state even though nothing is charged.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/limit/policy.hpp"

namespace weir::limit {

inline constexpr std::int64_t kNever = -1;  // retry_after: waiting cannot help (cost above capacity)

// Bounds of a calendar window and its neighbours, ms since the epoch: window i is [bound[i], bound[i+1]).
// The store picks by its own clock, so a gateway whose clock is a day off still counts in the right window.
struct CalendarBounds {
  std::array<std::int64_t, 4> at{};
};

// What varies from call to call beside the policy's terms.
struct Request {
  std::int64_t now_ms = 0;     // the store's clock
  std::int64_t cost = 1;       // permits, >= 0 (0 = peek)
  std::int64_t offset_ms = 0;  // fixed_window, sliding_counter: 0 <= offset < window
  CalendarBounds bounds;       // only where terms.calendar
  std::uint64_t owner = 0;     // concurrency: whose slot; unique per request, below 2^53
};

struct Verdict {
  bool within_limit = true;
  std::int64_t limit = 0;           // as configured now
  std::int64_t remaining = 0;       // 0 .. limit (bucket kinds: .. burst); after the charge if there was one
  std::int64_t retry_after_ms = 0;  // 0 if within; else the wait after which the same cost passes, or kNever
  std::int64_t reset_ms = 0;        // until the counter is as if untouched
  std::int64_t wait_ms = 0;         // leaky_bucket: how long a granted request must be held
};

// State of one counter. Four words serve all but three algorithms; `more` holds cells, log entries or slots.
// A counter that does not exist equals CounterState{}.
struct CounterState {
  std::array<std::int64_t, 4> word{};
  std::unique_ptr<std::vector<std::int64_t>> more;
};

// What judge saw. `next` is the state brought up to `now` without the charge, where the words are the whole
// state; else what judge has to tell charge.
struct Look {
  Verdict verdict;
  std::array<std::int64_t, 4> next{};
  bool repair = false;
};

// What a counter still owes when it is dropped from a bounded table: `used` permits, all returned by
// `until_ms`. restore() makes a state from it that is never fuller than the dropped one would be by then.
struct Debt {
  std::int64_t used = 0;
  std::int64_t until_ms = 0;
};

struct Algorithm {
  AlgorithmKind kind;
  std::string_view name;

  Look (*judge)(const CounterState&, const Terms&, const Request&);
  // Requires: `look` came from judge of the same state, terms and request, and passed (or the charge is a
  // relaxed or settled one). Returns the verdict after the charge.
  Verdict (*charge)(CounterState&, const Terms&, const Request&, const Look&);
  // Writes the repaired state after a clock step back; no charge.
  void (*repair)(CounterState&, const Terms&, const Request&, const Look&);
  // Adds `delta` permits (positive: debt beyond the limit is allowed; negative: a refund) to the charge made
  // at `charged_at_ms`. A refund for a window that is over is dropped. Never refuses.
  void (*settle)(CounterState&, const Terms&, const Request&, std::int64_t charged_at_ms, std::int64_t delta);
  // concurrency only: gives the owner's slot back / extends its life; others ignore it.
  void (*release)(CounterState&, const Terms&, const Request&);
  void (*renew)(CounterState&, const Terms&, const Request&);
  // What dropping this state now would forgive; used == 0 when it equals a fresh one.
  Debt (*owed)(const CounterState&, const Terms&, const Request&);
  void (*restore)(CounterState&, const Terms&, const Request&, const Debt&);
};

const Algorithm& algorithm(AlgorithmKind kind) noexcept;
// nullptr for an unknown name.
const Algorithm* algorithm(std::string_view name) noexcept;

}  // namespace weir::limit
