// SPDX-License-Identifier: Apache-2.0
// One configuration, asked again what it would have said to logged requests: the product's own extractor,
// limiter chain and memory store, on a clock that the log drives.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/simulate/log_reader.hpp"
#include "pipeline/runtime.hpp"
#include "store/memory_store.hpp"
#include "weir/base/clock.hpp"
#include "weir/limit/decision.hpp"

namespace weir::app {

// Stands still until it is set. Both its times are the log's wall time.
class ReplayClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const noexcept override { return now_ms_; }
  std::int64_t wall_ms() const noexcept override { return now_ms_; }
  // Never backwards.
  void advance(std::int64_t now_ms) noexcept { now_ms_ = now_ms > now_ms_ ? now_ms : now_ms_; }

 private:
  std::int64_t now_ms_ = 0;
};

// Single-threaded.
class Replay {
 public:
  // Where the judgement of one request stands.
  struct Judged {
    limit::Decision decision;
    std::string_view layer;                   // that refuses, "" if none
    std::string_view shadow_layer;            // the first that would refuse if it were enforced
    std::string_view api;                     // lives as long as the Runtime
    std::int64_t granted_delay_ms = 0;        // refused and delayable: how long it may be held in all
    std::unique_ptr<limit::ChargeSet> holds;  // what its end has to settle or release; else null
  };

  // `clock` outlives the replay.
  Replay(std::shared_ptr<const pipeline::Runtime> runtime, std::size_t max_keys, const ReplayClock& clock);

  // Judges at the clock's time. `cost` 0: what the configuration says the request costs.
  Judged judge(const LoggedRequest& request, std::int64_t cost);

  // What this configuration charges for such a request by itself, headers apart.
  std::int64_t own_cost(const LoggedRequest& request);

  // While what `judged.holds` holds lasts, every SlotKeeper::kRenewEveryMs; and when the request ends.
  void renew(const limit::ChargeSet& held);
  void end(const LoggedRequest& request, std::unique_ptr<limit::ChargeSet> held);

  const pipeline::Runtime& runtime() const noexcept { return *runtime_; }
  std::uint64_t evictions() const noexcept { return store_.evictions(); }

 private:
  class Scratch;
  void identify(const LoggedRequest& request);
  bool lasts(const limit::ChargeSet& set, const limit::Decision& decision) const;

  std::shared_ptr<const pipeline::Runtime> runtime_;
  const ReplayClock& clock_;
  store::MemoryStore store_;
  bool settles_ = false;
  std::uint64_t owner_ = 0;
  std::deque<std::string> texts_;  // of the request that is looked at
  identity::Extraction found_;
  std::unique_ptr<limit::ChargeSet> spare_;
};

}  // namespace weir::app
