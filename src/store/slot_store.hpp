// SPDX-License-Identifier: Apache-2.0
// In a cluster: takes a chain apart by slot, so that each part is one call to one node, all of them sent
// together. A caller's layers share a slot and stay all or none; across slots nothing is rolled back over the
// network: what one node charged stays charged when another refuses (spec AC-1). That waste is counted. What
// was charged in this process (a node that is ill) is given back here, and slots of concurrency are released.
//
// Threads: one per worker, over the worker's ladder.
#pragma once

#include <atomic>
#include <memory>

#include "redis/script_caller.hpp"
#include "store/spares.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::store {

struct SlotStats {
  std::atomic<std::uint64_t> split{0};    // requests whose layers lay in several slots
  std::atomic<std::uint64_t> wasted{0};   // permits that a refused request left charged
  std::atomic<std::uint64_t> charged{0};  // permits charged in several slots, to compare with
};

class SlotStore final : public limit::CounterStore {
 public:
  // Both outlive this store.
  SlotStore(limit::CounterStore& below, redis::Executor executor);
  ~SlotStore() override;

  bool decide_now(limit::ChargeSet& set) override;  // false for a set of several slots
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

  const SlotStats& stats() const noexcept { return stats_; }

 private:
  struct Parts;
  enum class Question : std::uint8_t { decide, peek };

  boost::asio::awaitable<void> ask(limit::ChargeSet& set, Question question);
  boost::asio::awaitable<void> ask_part(Parts& parts, std::size_t part, Question question);
  void account(limit::ChargeSet& set);
  void give_back(limit::Charge& charge);
  std::unique_ptr<Parts> take(const limit::ChargeSet& set);

  limit::CounterStore& below_;
  redis::Executor executor_;
  Spares<Parts> spares_;
  SlotStats stats_;
};

}  // namespace weir::store
