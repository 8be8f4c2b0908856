// SPDX-License-Identifier: Apache-2.0
// A circuit breaker as a pure state machine: it has no clock and no timer, the caller brings the time.
//
//   closed     calls pass. `consecutive` failures in a row, or half of at least `min_calls` calls within one
//              window, open it.
//   open       calls are refused until a pause is over. The pause doubles with each failed probe, from
//              `pause_min_ms` to `pause_max_ms`, and is jittered by half, so that a fleet does not probe at
//              once.
//   half_open  one call at a time passes as a probe: its success closes the breaker, its failure opens it
//   again.
//              A probe that does not report within `probe_ms` counts as lost, and another may go.
//
// Not thread-safe.
#pragma once

#include <cstdint>

namespace weir {

class Breaker {
 public:
  struct Options {
    int consecutive = 3;
    int min_calls = 20;
    std::int64_t window_ms = 1000;
    std::int64_t pause_min_ms = 50;
    std::int64_t pause_max_ms = 5000;
    std::int64_t probe_ms = 1000;
  };
  enum class State : std::uint8_t { closed, open, half_open };
  // What a caller may do, and how its result must be reported.
  enum class Pass : std::uint8_t { refused, call, probe };

  Breaker(Options options, std::uint64_t seed) noexcept;

  // Each pass other than `refused` should be followed by one succeeded() or failed().
  Pass admit(std::int64_t now_ms) noexcept;
  // What admit() would say, changing nothing.
  bool refuses(std::int64_t now_ms) const noexcept;

  // Results of calls that began before the breaker opened are ignored once it has.
  void succeeded(Pass pass, std::int64_t now_ms) noexcept;
  void failed(Pass pass, std::int64_t now_ms) noexcept;

  // There is reason to believe that it would work now: the pause is over. No matter but to an open one.
  void hurry(std::int64_t now_ms) noexcept;

  State state() const noexcept { return state_; }

 private:
  void count(bool failure, std::int64_t now_ms) noexcept;
  void open(std::int64_t now_ms) noexcept;

  Options options_;
  State state_ = State::closed;
  int in_a_row_ = 0;
  int calls_ = 0;
  int failures_ = 0;
  unsigned pauses_ = 0;
  std::int64_t window_began_ms_ = 0;
  std::int64_t until_ms_ = 0;  // open: end of the pause; half_open: when the probe counts as lost
  std::uint64_t random_;
};

}  // namespace weir
