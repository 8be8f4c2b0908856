// SPDX-License-Identifier: Apache-2.0
// The shards of a Redis Cluster: which node serves a slot, and what to do when that changes.
//
// The map of slots comes from CLUSTER SLOTS, asked of the nodes in turn: at the start, every few seconds,
// soon after a MOVED or a node that fails, and again and again, at growing distances up to a second, while a
// slot has no node that answers, so that a fail-over is noticed whether or not anyone calls. MOVED moves one
// slot at once; ASK sends one call, after ASKING, to where the slot is going; TRYAGAIN (a call's keys are on
// both sides of a move) is tried again. None of these was carried out where it came from, so that a call is
// still carried out at most once. A node that is not in the map is connected to when the first call is sent
// there.
//
// While a slot has no node, or its node no connection, calls fail at once (cluster_down, unavailable). A
// fail-over ends that as soon as the map names the new primary.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <random>
#include <string>
#include <vector>

#include "redis/script_caller.hpp"

namespace weir::redis {

struct ClusterOptions {
  std::vector<Address> seeds;  // at least one
  ConnectionOptions node;      // host, port and on_redirect are filled in
  std::chrono::milliseconds refresh_every{5000};
  std::chrono::milliseconds refresh_gap{100};   // the least time between two questions
  std::chrono::milliseconds refresh_ill{1000};  // the most, while a slot has no node that answers
};

// Monotone counts, from any thread.
struct ClusterStats {
  std::atomic<std::uint64_t> moved{0};
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> tried_again{0};
  std::atomic<std::uint64_t> maps{0};      // maps read
  std::atomic<bool> not_a_cluster{false};  // a server said that its cluster support is off
};

class ClusterCaller final : public ScriptCaller, public std::enable_shared_from_this<ClusterCaller> {
 public:
  static std::shared_ptr<ClusterCaller> start(Executor executor, ClusterOptions options);
  ClusterCaller(Executor executor, ClusterOptions options);

  boost::asio::awaitable<Result<Reply>> call(const Script& script, Slot slot,
                                             const ScriptArguments& arguments, TimePoint deadline) override;
  void distrust(Slot slot) override;
  void close() override;
  bool sharded() const noexcept override { return true; }
  std::size_t lane_of(Slot slot) const noexcept override;
  // Also true of a node that has been connected to for long and was given slots since, as a replica that took
  // over.
  bool came_up_after(Slot slot, TimePoint moment) const noexcept override;
  Executor executor() const noexcept override { return executor_; }
  const ConnectionStats& stats() const noexcept override { return stats_; }
  std::uint64_t reloads() const noexcept override { return reloads_->load(std::memory_order_relaxed); }

  const ClusterStats& cluster_stats() const noexcept { return cluster_stats_; }

 private:
  static constexpr std::uint16_t kNoNode = 0xFFFF;
  struct Node {
    Address address;
    ScriptRunners runners;
    TimePoint gained;  // when it was last given a slot of another node
  };
  struct Ask {
    Slot slot;
    std::uint16_t node;
  };

  static boost::asio::awaitable<void> run(std::shared_ptr<ClusterCaller> self);
  boost::asio::awaitable<bool> read_map();
  std::chrono::milliseconds until_next_map();
  bool take_map(const Reply& reply, const Address& from);
  bool take_range(const Reply& range, const Address& from, std::array<std::uint16_t, kSlots>& into);
  void refresh_soon(std::chrono::milliseconds pause = {});
  void look_if_ready();
  std::uint16_t node_at(const Address& address);
  void on_redirect(std::string_view message, const Address& from);
  std::uint16_t take_ask(Slot slot);
  void give(Slot slot, std::uint16_t node);

  Executor executor_;
  ClusterOptions options_;
  ReloadCount reloads_ = std::make_shared<std::atomic<std::uint64_t>>();
  std::vector<std::unique_ptr<Node>> nodes_;  // never shrinks: an index stays what it is
  std::array<std::uint16_t, kSlots> slots_;
  std::vector<Ask> asks_;  // of calls that are about to be sent again
  boost::asio::steady_timer timer_;
  TimePoint next_map_;
  TimePoint last_map_;
  std::size_t next_node_ = 0;  // whom to ask for the map
  unsigned ill_maps_ = 0;      // read or not, in a row, after which some slot had no node that answers
  std::minstd_rand jitter_;
  bool closed_ = false;
  ConnectionStats stats_;
  ClusterStats cluster_stats_;
};

}  // namespace weir::redis
