// SPDX-License-Identifier: Apache-2.0
// The permits of all regions' counters that one region holds, kept in the region's own store, so that its
// gateways spend them together (spec LC-4). Stands between a gateway's leases and the parent store.
//
// A set is decided in this order:
//   1. The region's pool is asked (lua/pool.lua): a refusal that some gateway has heard refuses, permits that
//      are there are taken, and the gateway's own short lease out of them with them.
//   2. What the pool has none of is asked of the parent, for this request alone. Of the gateways that find a
//      pool empty, or low, one is told to fetch: it takes the region's next batch along, in the background if
//      it was low. The others do not wait for that: their way to the parent is as long as the rest of the
//      fetcher's, they are judged exactly, and nobody depends on a gateway that may have died. Those who are
//      refused because the fetcher took the last permits look into the pool again, once that one is back.
//   3. If the parent refuses, what was taken of the pool goes back there.
//
// A fetcher's order is a ticket, good for one answer: an answer that comes twice, too late, or after another
// was sent to fetch, adds nothing, and its permits go back to the parent. A server that is another one, or
// one that started anew, may have lost its last writes: it is told apart by its run id, and batches that
// another one wrote are dropped. So permits may be lost, and are never spent twice.
//
// What is over and was not used goes back to the parent with the next fetch, or, of a key that went quiet, by
// a timer of whichever gateway looks first; what is held when the last gateway of a region leaves, at once.
//
// While the region's store is ill, gateways ask the parent by themselves. `accounting: relaxed` asks the
// parent. Threads: one per worker; stats() from any.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "base/breaker.hpp"
#include "redis/script_caller.hpp"
#include "store/fleet_beat.hpp"
#include "store/lease_pool.hpp"
#include "store/pool_call.hpp"
#include "store/pool_word.hpp"
#include "store/region_pools.hpp"
#include "store/spares.hpp"
#include "store/sweep_timer.hpp"
#include "weir/base/clock.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::store {

struct PoolStats {
  std::atomic<std::uint64_t> pooled{0};    // layers that the region's pool decided
  std::atomic<std::uint64_t> asked{0};     // layers that were asked of the parent one by one
  std::atomic<std::uint64_t> leases{0};    // batches that this worker brought the region
  std::atomic<std::uint64_t> granted{0};   // permits in them
  std::atomic<std::uint64_t> returned{0};  // permits given back to the parent unused
  std::atomic<std::uint64_t> ill{0};       // sets decided without the pool, since its store did not answer
};

class PoolStore final : public limit::CounterStore {
 public:
  // All outlive this store. `parent` answers always (a ladder). Everything happens on the executor of
  // `region`.
  struct Parts {
    std::shared_ptr<redis::ScriptCaller> region;
    std::chrono::milliseconds timeout;         // of a call of the region's store
    std::chrono::milliseconds parent_timeout;  // of one of the parent
    limit::CounterStore& parent;
    const Clock& clock;
    LeaseOptions lease;  // what the region takes of the parent
    RegionPools& pools;
    UseTable& uses;   // what this worker is granted
    Renewed renewed;  // whether the parent's server is a new one
    const redis::Script& script = redis::kPool;
  };
  explicit PoolStore(const Parts& parts);
  ~PoolStore() override;

  bool decide_now(limit::ChargeSet& set) override;  // always false: the pool is a call away
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;  // the parent's counters
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

  // Looks after pools that should be over. Called by a timer while any are known.
  void sweep();
  // From here on nothing is fetched.
  void drain() noexcept { draining_ = true; }
  // For who says the region's fleet good-bye: if nobody stays, all that the region holds goes back.
  FleetBeat::Left when_left();
  // True if nothing is on its way any more. From any thread.
  bool idle() const noexcept { return errands_.load() == 0; }
  void close();

  const PoolStats& stats() const noexcept { return stats_; }

 private:
  struct Work;
  struct Errand;
  // One server of the region's store.
  struct Lane {
    Breaker breaker;
    redis::TimePoint failed;    // when a call there failed last
    redis::TimePoint verified;  // when `server` was asked for
    bool known = false;
    std::int64_t server = 0;  // stands for its run id; 0: the account may not ask
  };
  enum class Told : std::uint8_t {
    answered,
    unanswered,  // whether it was carried out is not known
    unasked,     // it was not
  };
  using Members = std::span<const std::uint8_t>;

  Lane& lane_of(redis::Slot slot);
  redis::Slot slot_of(std::string_view key) const;
  std::int64_t next_ticket();
  std::int64_t hold_ms() const;

  boost::asio::awaitable<bool> settle_with_parent(limit::ChargeSet& set, Work& work);
  boost::asio::awaitable<void> look_again(limit::ChargeSet& set, Work& work);
  boost::asio::awaitable<Told> take(limit::ChargeSet& set, Work& work);
  boost::asio::awaitable<Told> take_part(limit::ChargeSet& set, Work& work, Members members);
  bool read(const redis::Reply& reply, limit::ChargeSet& set, Work& work, Members members,
            std::int64_t ticket);
  void write_down(limit::ChargeSet& set, Work& work);
  boost::asio::awaitable<void> ask_alone(limit::ChargeSet& set, Told told);
  boost::asio::awaitable<bool> ask_for_missing(limit::ChargeSet& set, Work& work);
  void follow_up(const limit::Charge& answered, const PoolAnswer& found);
  // What was taken of the pool for a request that is refused: its cost alone, or the gateway's lease as well.
  enum class Part : std::uint8_t { cost, all };
  void put_back(limit::ChargeSet& set, const Work& work, Part what);
  void fetch_for(const limit::Charge& charge, const PoolOrder& order);
  void note_uses(const limit::ChargeSet& set);

  boost::asio::awaitable<bool> knows_server(Lane& lane, redis::Slot slot);
  boost::asio::awaitable<Result<redis::Reply>> call(std::string_view key, PoolCall& asked);
  void spawn(boost::asio::awaitable<void> work);
  boost::asio::awaitable<void> count_down(boost::asio::awaitable<void> work);
  boost::asio::awaitable<void> tell(std::string key, std::unique_ptr<PoolCall> asked);
  boost::asio::awaitable<void> fetch(std::unique_ptr<Errand> errand);
  boost::asio::awaitable<void> hand_in(std::unique_ptr<Errand> errand);
  boost::asio::awaitable<void> look_at(RegionPools::Known known);
  boost::asio::awaitable<void> pass_back(std::unique_ptr<Errand> errand, limit::Lease::Spent unused);
  void tell_what_was_seen(std::string_view key, const PoolOrder& order, limit::Lease& lease) const;
  bool is_renewed(std::string_view key, const PoolOrder& order) const;
  void return_all();
  void let_go(std::string key, const PoolOrder& order, std::chrono::milliseconds pause);
  void watch();

  const Parts parts_;
  std::vector<Lane> lanes_;
  Spares<Work> spares_;
  std::mt19937_64 random_;
  SweepTimer timer_;
  bool draining_ = false;
  std::int64_t parent_ahead_ms_ = 0;  // the parent's clock minus the local one, as of what was last charged
  std::atomic<int> errands_{0};
  PoolStats stats_;
};

}  // namespace weir::store
