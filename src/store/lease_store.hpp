// SPDX-License-Identifier: Apache-2.0
// Permit leases in front of a shared store: keys that this process sees often are counted here, out of
// permits that were taken from the store beforehand; all others are asked for one by one. Exact either way
// (lease_rules.hpp says why), and no request is let through on a guess, unless `lease.debt` allows one.
//
// A chain is decided in this order:
//   1. If an enforcing layer is known to be over its limit, the request is refused; nothing is charged, no
//      one is asked, and the other layers are judged from what was heard last.
//   2. If permits of all layers are at hand, they are taken. When they run low, the next lease is fetched in
//      the background, so that no request waits for it.
//   3. Else the layers that have none go to the store below, in one step, and leases for the hot ones among
//      them with them; if it refuses, what was taken here is put back. One lease call per key is under way at
//      a time; requests that find none at hand meanwhile are charged exactly, and if they are refused because
//      that lease took the last permits, they wait for those, whichever worker asked. With `lease.debt` a few
//      of them pass at once, and are charged as soon as that call has ended, to whatever window it is then.
//
// `accounting: relaxed` goes straight to the store below. A denial is believed for at most a second and no
// longer than its retry_after. Unused permits are given back when their lease is over and the key is quiet,
// with the next call if it is not, and on drain.
//
// Threads: one per worker, over the worker's own store below and the process's pool; stats() from any.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "store/lease_pool.hpp"
#include "store/spares.hpp"
#include "store/sweep_timer.hpp"
#include "telemetry/counters.hpp"
#include "weir/base/clock.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::store {

inline constexpr std::array<std::int64_t, 10> kLeaseSizeBounds{1, 2, 5, 10, 25, 50, 100, 250, 1000, 10000};

struct LeaseStoreStats {
  std::atomic<std::uint64_t> hits{0};            // requests allowed without asking the store
  std::atomic<std::uint64_t> denials{0};         // requests refused by what was known, likewise
  std::atomic<std::uint64_t> asked{0};           // requests that waited for the store
  std::atomic<std::uint64_t> fetches{0};         // calls that fetched a lease ahead of need
  std::atomic<std::uint64_t> returns{0};         // calls that gave unused permits back
  telemetry::Histogram sizes{kLeaseSizeBounds};  // permits per lease
};

class LeaseStore final : public limit::CounterStore {
 public:
  // All outlive this store. Background calls run on `executor`, the worker's. `renewed` is asked there.
  LeaseStore(boost::asio::any_io_executor executor, LeasePool& pool, limit::CounterStore& below,
             const Clock& clock, Renewed renewed = {});
  ~LeaseStore() override;

  bool decide_now(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;  // the store's counters
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

  // Undoes what decide_now() charged: to the permits at hand, or, where the store below answered by itself,
  // there. The set's charges read as not charged afterwards.
  void put_back(limit::ChargeSet& set);

  // Gives back what leases that are over left unused. Called by a timer while there are any.
  void sweep();
  // From here on every request is counted exactly, and all permits of the pool go back. On the worker's
  // thread; a second call, by any worker, finds nothing left.
  void drain();
  // True if it was drained and nothing is on its way to the store any more. From any thread.
  bool idle() const noexcept { return drained_.load() && errands_.load() == 0; }
  // Ends the timer, so that the loop can end.
  void close();

  const LeaseStoreStats& stats() const noexcept { return stats_; }

 private:
  struct Part;
  struct Errand;
  struct Looks;
  struct Watch {
    std::int64_t due_ms;
    Hash128 id;
    bool operator>(const Watch& other) const { return due_ms > other.due_ms; }
  };

  enum class Here : std::uint8_t { no, allowed, refused };  // whether it was answered without the store
  Here answer_here(limit::ChargeSet& set, LeasePool::Arrival arrival);
  bool count(Here answer);
  enum class OwnLease : std::uint8_t { none, coming, here };  // that has what a request was refused for
  OwnLease own_lease(const limit::ChargeSet& set);
  boost::asio::awaitable<OwnLease> arrival_of_own_lease(const limit::ChargeSet& set);
  void refuse(limit::ChargeSet& set, const Looks& looks);
  bool take_all(limit::ChargeSet& set, const Looks& looks, std::int64_t now_ms);
  void gather(limit::ChargeSet& set, Part& part);
  void conclude(limit::ChargeSet& set, Part& part);
  void book(const Hash128& id, const limit::Charge& answered, std::int64_t sent_ms);
  void pay(const limit::Charge& answered, std::int64_t debt);
  void fetch(const Hash128& id, const limit::Charge& charge, std::int64_t now_ms);
  void send_back(LeaseReturn give_back, const Hash128& id);
  void spawn(std::unique_ptr<Errand> errand);
  boost::asio::awaitable<void> run(std::unique_ptr<Errand> errand);
  void watch(std::int64_t due_ms, const Hash128& id);

  boost::asio::any_io_executor executor_;
  LeasePool& pool_;
  limit::CounterStore& below_;
  const Clock& clock_;
  const Renewed renewed_;
  std::priority_queue<Watch, std::vector<Watch>, std::greater<>> watched_;
  SweepTimer timer_;
  std::atomic<int> errands_{0};
  std::atomic<bool> drained_{false};
  Spares<Part> spares_;
  LeaseStoreStats stats_;
};

}  // namespace weir::store
