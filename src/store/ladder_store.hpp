// SPDX-License-Identifier: Apache-2.0
// What happens while the shared store cannot answer. Wraps it; above this no one sees set.store_error.
//
//   healthy  the shared store answers
//   brief    it failed; each layer follows its policy's on_brief_failure
//   long     it has failed for `long_after` without one success in between: on_long_failure
//
//   local    counted in this process: limit and burst are this instance's share, ceil(x / instances), at
//   least 1
//            and at least the request's cost (which would otherwise never pass); keys are marked, so that
//            they meet no counter of instance scope. Answered::local, charged and settled here.
//   allow    passes uncounted: Answered::failed_open, remaining 0 because nothing is known
//   deny     refused: Answered::failed_shut, retry in 1 s
//
// All local layers of a request are judged and charged in one step in memory, by the set's accounting; if an
// enforcing layer says deny, nobody is charged.
//
// A breaker stands in front of the shared store, so that a dead one costs no request its timeout: three
// failures in a row, or half of twenty calls in a second, and requests are answered here without asking,
// except for one probe at a time. An error that says that the server lives but one call is wrong
// (redis::is_outage is false) is answered here too, but opens nothing.
//
// Threads: one per worker, over the worker's shared store and the process's memory store; stats() from any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/breaker.hpp"
#include "weir/base/clock.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::store {

enum class StoreHealth : std::uint8_t { healthy, brief, long_failure };

struct LadderStats {
  std::atomic<StoreHealth> health{StoreHealth::healthy};
  std::atomic<bool> breaker_open{false};
  std::atomic<std::uint64_t> failures{0};         // calls of the shared store that failed
  std::atomic<std::uint64_t> spared{0};           // requests answered here without a call
  std::atomic<std::uint64_t> local{0};            // layers counted here
  std::atomic<std::uint64_t> failed_open{0};      // layers passed uncounted
  std::atomic<std::uint64_t> failed_shut{0};      // layers refused
  std::atomic<int> last_error{0};                 // redis::ErrorKind of the last failure; 0: none yet
  std::atomic<std::int64_t> failing_since_ms{0};  // monotonic; 0: healthy
};

class LadderStore final : public limit::CounterStore {
 public:
  struct Options {
    std::size_t instances = 1;
    std::chrono::milliseconds long_after{60000};
    Breaker::Options breaker;
  };
  // All three outlive this store. `memory` answers at once (decide_now is true).
  LadderStore(Options options, limit::CounterStore& shared, limit::CounterStore& memory,
                  const Clock& clock);
  ~LadderStore() override;

  bool decide_now(limit::ChargeSet& set) override;  // true while the breaker refuses
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

  const LadderStats& stats() const noexcept { return stats_; }

 private:
  class LocalSet;

  void note(Breaker::Pass pass, const error_code& error);
  void refresh_health();
  void answer_here(limit::ChargeSet& set);
  limit::FailureMode mode_of(const limit::Charge& charge) const;
  bool denies(const limit::ChargeSet& set) const;
  // The layers of `set` that this process counts, ready for the memory store.
  void gather(const limit::ChargeSet& set, bool denied, LocalSet& local) const;
  void gather_charged(const limit::ChargeSet& set, LocalSet& local) const;
  void apply(limit::ChargeSet& set, const LocalSet& local);

  Options options_;
  limit::CounterStore& shared_;
  limit::CounterStore& memory_;
  const Clock& clock_;
  Breaker breaker_;
  std::int64_t failing_since_ms_ = 0;
  bool failing_ = false;
  LadderStats stats_;
};

}  // namespace weir::store
