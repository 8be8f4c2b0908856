// SPDX-License-Identifier: Apache-2.0
// What happens while the shared store cannot answer. Wraps it; above this no one sees set.store_error.
//
//   healthy  the shared store answers
//   brief    it failed; each layer follows its policy's on_brief_failure
//   long     it has failed for `long_after`: on_long_failure
//            Back to healthy after `recover_after` without a failure, so that a store that flaps stays ill.
//
//   local    counted in this process with this instance's share of the limit (ladder_share.hpp, FleetShare).
//            Answered::local, charged and settled here
//   allow    passes uncounted: Answered::failed_open, remaining 0 because nothing is known
//   deny     refused: Answered::failed_shut, retry in 1 s
//
// All local layers of a request are judged and charged in one step in memory, by the set's accounting; if an
// enforcing layer says deny, nobody is charged.
//
// A breaker stands in front of the shared store (in a cluster: of each node), so that a dead one costs no
// request its timeout: three failures in a row, or half of twenty calls in a second, and requests are
// answered here without asking. One of them at a time, after a jittered pause or as soon as there is a new
// connection, lends its first layer to a probe, a peek in the background; no request waits for one. An error
// that says that the server lives but one call is wrong (redis::is_outage is false) is answered here too, but
// opens nothing.
//
// When the store is back (of a cluster: the node that serves the key then), what was let through here is
// handed in as far as it still counts (LadderLedger), after a jittered pause and a few calls at a time.
//
// Threads: one per worker, over the worker's shared store and the process's memory store; stats() from any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/breaker.hpp"
#include "redis/script_caller.hpp"
#include "store/fleet_share.hpp"
#include "store/ladder_ledger.hpp"
#include "store/ladder_share.hpp"
#include "weir/base/clock.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::store {

enum class StoreHealth : std::uint8_t { healthy, brief, long_failure };
// "healthy", "brief", "long".
std::string_view name_of(StoreHealth health) noexcept;

struct LadderStats {
  std::atomic<StoreHealth> health{StoreHealth::healthy};
  std::atomic<bool> breaker_open{false};
  std::atomic<std::uint64_t> opened{0};       // times a breaker opened
  std::atomic<std::uint64_t> failures{0};     // calls of the shared store that failed
  std::atomic<std::uint64_t> probes{0};       // calls to find out whether it is back
  std::atomic<std::uint64_t> spared{0};       // requests answered here without a call
  std::atomic<std::uint64_t> local{0};        // layers counted here
  std::atomic<std::uint64_t> failed_open{0};  // layers passed uncounted
  std::atomic<std::uint64_t> failed_shut{0};  // layers refused
  std::atomic<std::uint64_t> handed_in{0};    // permits used here and charged to the store when it was back
  std::atomic<int> last_error{0};             // redis::ErrorKind of the last failure; 0: none yet
  std::atomic<std::int64_t> failing_since_ms{0};  // monotonic; 0: healthy
};

class LadderStore final : public limit::CounterStore {
 public:
  struct Options {
    std::chrono::milliseconds long_after{60000};
    std::chrono::milliseconds recover_after{2000};
    std::chrono::milliseconds hand_in_within{250};
    Breaker::Options breaker{.pause_max_ms = 2000};
  };
  // All outlive this store. `memory` answers at once (decide_now is true). `caller` knows which keys fail
  // together, and when a server came back; nullptr: all do, and only probes tell. `uses` is this worker's.
  struct Parts {
    limit::CounterStore& shared;
    limit::CounterStore& memory;
    const Clock& clock;
    const FleetShare& share;
    UseTable& uses;
    redis::Executor executor;
    const redis::ScriptCaller* caller = nullptr;
  };
  LadderStore(Options options, const Parts& parts);
  ~LadderStore() override;

  bool decide_now(limit::ChargeSet& set) override;  // true while the breaker refuses
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

  const LadderStats& stats() const noexcept { return stats_; }

 private:
  struct OneLayer;

  struct Lane {
    Breaker breaker;
    std::int64_t used_ms = 0;  // when a request last lay there
    redis::TimePoint failed;   // when a call there failed last
  };

  static void count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) noexcept {
    counter.fetch_add(more, std::memory_order_relaxed);
  }
  bool sharded() const noexcept { return parts_.caller != nullptr && parts_.caller->sharded(); }
  redis::Slot slot_of(const limit::ChargeSet& set) const;
  Lane& lane_of(const limit::ChargeSet& set);
  void hurry_if_new(Lane& lane, const limit::ChargeSet& set);
  bool asks(const limit::ChargeSet& set);
  void note(Lane& lane, Breaker::Pass pass, const error_code& error);
  void look_at_lanes(std::int64_t now_ms);
  void note_uses(const limit::ChargeSet& set);
  void refresh_health();

  void send_probe(const limit::Charge& charge);
  static boost::asio::awaitable<void> probe(std::weak_ptr<LadderStore*> alive,
                                            std::unique_ptr<OneLayer> layer);
  void hand_in_soon(std::int64_t now_ms);
  bool is_back(std::string_view key) const;
  static boost::asio::awaitable<void> hand_in(std::weak_ptr<LadderStore*> alive);

  void answer_here(limit::ChargeSet& set);
  limit::FailureMode mode_of(const limit::Charge& charge) const;
  bool denies(const limit::ChargeSet& set) const;
  double factor_of(const limit::Charge& charge);
  std::int64_t store_time(std::int64_t now_ms) const { return now_ms + store_ahead_ms_; }
  // The layers of `set` that this process counts, ready for the memory store.
  void gather(const limit::ChargeSet& set, bool denied, LocalSet& local);
  void gather_charged(const limit::ChargeSet& set, LocalSet& local);
  void apply(limit::ChargeSet& set, const LocalSet& local);

  const Options options_;
  const Parts parts_;
  std::vector<Lane> lanes_;
  const std::shared_ptr<LadderStore*> self_ = std::make_shared<LadderStore*>(this);
  LadderLedger ledger_;
  std::shared_ptr<const Shares> shares_;
  std::uint64_t shares_version_ = 0;
  // The store's clock minus the monotonic one; until the store has answered, the wall clock stands for it:
  // what is used in an outage that came first is owed as of then, not as of the machine's start.
  std::int64_t store_ahead_ms_;
  std::int64_t failing_since_ms_ = 0;
  std::int64_t last_outage_ms_ = 0;
  bool failing_ = false;
  bool handing_in_ = false;
  bool owes_ = false;  // a breaker has opened, and not everything was handed in since
  std::int64_t next_hand_in_ms_ = 0;
  LadderStats stats_;
};

}  // namespace weir::store
