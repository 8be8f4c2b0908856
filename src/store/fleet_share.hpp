// SPDX-License-Identifier: Apache-2.0
// This instance's share of the fleet's traffic, counter by counter: what the ladder multiplies a limit with
// while the shared store is ill.
//
// Workers note what they were granted (UseTable, one per worker, no lock). At each heartbeat FleetBeat takes
// what came since the last one, tells the store, and learns what the whole fleet was granted of the same
// counters in this epoch and the one before: the quotient is the share, so that the shares of all instances
// add up to one. Counters that were not seen lately have the share 1 / live instances.
//
// Memory is bounded: 2048 counters a worker, 256 in one beat, 4096 shares.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::store {

// A counter without its name: a stable hash, the same in every instance.
using CounterId = std::uint64_t;
CounterId counter_id(std::string_view key) noexcept;

// What one worker was granted, by counter. note(): the worker only. The rest: the beat only.
class UseTable {
 public:
  struct Use {
    CounterId counter;
    std::int64_t permits;
  };

  // Permits are kept mod 2^32. A counter new to a full set may have to wait until another falls silent.
  void note(CounterId counter, std::int64_t permits) noexcept;
  // Appends what was granted since the last call.
  void collect(std::vector<Use>& into);

 private:
  static constexpr std::size_t kSets = 512, kWays = 4;
  static constexpr std::uint32_t kSilent = 10;  // beats
  struct Entry {
    std::atomic<CounterId> counter{0};
    std::atomic<std::uint32_t> permits{0};
    std::atomic<std::uint32_t> touched{0};
  };
  struct Seen {
    CounterId counter = 0;
    std::uint32_t permits = 0;
  };

  Entry* claim(Entry* set, std::uint32_t beat) noexcept;

  std::array<Entry, kSets * kWays> entries_;
  std::vector<Seen> seen_ = std::vector<Seen>(kSets * kWays);
  std::atomic<std::uint32_t> beat_{kSilent};
  std::uint32_t refused_ = 0;
};

// Shares as they were at one beat. Immutable.
struct Shares {
  std::size_t instances = 1;
  std::unordered_map<CounterId, double> of;

  double share(CounterId counter) const noexcept {
    const auto found = of.find(counter);
    return found == of.end() ? 1.0 / static_cast<double>(instances) : found->second;
  }
};

// One per process; outlives the workers' stores.
class FleetShare {
 public:
  // `instances`: what is assumed until the first beat was answered.
  FleetShare(std::size_t workers, std::size_t instances);

  UseTable& uses(std::size_t worker) noexcept { return *tables_[worker]; }

  // Any thread. A copy of what is in force; cheap to hold on to.
  std::shared_ptr<const Shares> shares() const;
  // Grows with each beat that was answered; a copy with an older one is stale.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  // Live instances as last heard; 0: never heard of.
  std::size_t heard() const noexcept { return heard_.load(std::memory_order_relaxed); }

  // One thread, the beat's: the heaviest uses since the last call.
  std::vector<UseTable::Use> collect();
  // What the store answered: `fleet[n]` permits of posted[n] by all, in `epoch` and the one before.
  void learn(std::size_t instances, std::int64_t epoch, std::span<const UseTable::Use> posted,
             std::span<const std::int64_t> fleet);

 private:
  static constexpr std::size_t kMostPosted = 256, kMostShares = 4096;
  static constexpr std::int64_t kKeptEpochs = 6;
  struct Own {
    std::int64_t epoch = 0, current = 0, before = 0;
    double share = 0;
  };

  std::vector<std::unique_ptr<UseTable>> tables_;
  std::unordered_map<CounterId, Own> own_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Shares> shares_;
  std::atomic<std::uint64_t> version_{1};
  std::atomic<std::size_t> heard_{0};
};

}  // namespace weir::store
