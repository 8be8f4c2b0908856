// SPDX-License-Identifier: Apache-2.0
#include "store/fleet_share.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/hash.hpp"
#include "base/own_count.hpp"

namespace weir::store {

CounterId counter_id(std::string_view key) noexcept {
  return stable_hash(key) | 1U;  // 0 marks an empty entry
}

void UseTable::note(CounterId counter, std::int64_t permits) noexcept {
  if (permits <= 0) return;
  const std::uint32_t beat = beat_.load(std::memory_order_relaxed);
  Entry* const set = &entries_[(counter >> 32) % kSets * kWays];
  Entry* entry = nullptr;
  for (std::size_t way = 0; way < kWays && entry == nullptr; ++way) {
    if (set[way].counter.load(std::memory_order_relaxed) == counter) entry = set + way;
  }
  if (entry == nullptr) {
    entry = claim(set, beat);
    if (entry == nullptr) return;
    entry->counter.store(0, std::memory_order_release);
    entry->permits.store(0, std::memory_order_release);
    entry->counter.store(counter, std::memory_order_release);
  }
  add_own(entry->permits, static_cast<std::uint32_t>(permits));
  if (entry->touched.load(std::memory_order_relaxed) != beat)
    entry->touched.store(beat, std::memory_order_relaxed);
}

// A silent entry; else, now and then, the lightest, so that a counter that became hot gets in.
UseTable::Entry* UseTable::claim(Entry* set, std::uint32_t beat) noexcept {
  Entry* lightest = set;
  for (Entry* entry = set; entry != set + kWays; ++entry) {
    if (beat - entry->touched.load(std::memory_order_relaxed) >= kSilent) return entry;
    const bool lighter =
        entry->permits.load(std::memory_order_relaxed) < lightest->permits.load(std::memory_order_relaxed);
    if (lighter) lightest = entry;
  }
  return ++refused_ % 8 == 0 ? lightest : nullptr;
}

void UseTable::collect(std::vector<Use>& into) {
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    const CounterId counter = entries_[n].counter.load(std::memory_order_acquire);
    const std::uint32_t permits = entries_[n].permits.load(std::memory_order_acquire);
    // Given to another counter meanwhile: the next beat sees it whole.
    if (counter == 0 || entries_[n].counter.load(std::memory_order_acquire) != counter) continue;
    const Seen before = std::exchange(seen_[n], {counter, permits});
    const std::uint32_t fresh = permits - (before.counter == counter ? before.permits : 0);
    if (fresh != 0) into.push_back({counter, fresh});
  }
  beat_.fetch_add(1, std::memory_order_relaxed);
}

FleetShare::FleetShare(std::size_t workers, std::size_t instances) {
  for (std::size_t n = 0; n < workers; ++n) tables_.push_back(std::make_unique<UseTable>());
  auto first = std::make_shared<Shares>();
  first->instances = std::max<std::size_t>(instances, 1);
  shares_ = std::move(first);
}

std::shared_ptr<const Shares> FleetShare::shares() const {
  const std::lock_guard lock(mutex_);
  return shares_;
}

std::vector<UseTable::Use> FleetShare::collect() {
  std::vector<UseTable::Use> all;
  for (const auto& table : tables_) table->collect(all);
  std::ranges::sort(all, {}, &UseTable::Use::counter);
  std::vector<UseTable::Use> merged;
  for (const UseTable::Use& use : all) {
    if (!merged.empty() && merged.back().counter == use.counter) {
      merged.back().permits += use.permits;
    } else {
      merged.push_back(use);
    }
  }
  std::ranges::sort(merged, std::greater{}, &UseTable::Use::permits);
  if (merged.size() > kMostPosted) merged.resize(kMostPosted);
  return merged;
}

void FleetShare::learn(std::size_t instances, std::int64_t epoch, std::span<const UseTable::Use> posted,
                       std::span<const std::int64_t> fleet) {
  for (std::size_t n = 0; n < posted.size(); ++n) {
    Own& own = own_[posted[n].counter];
    if (own.epoch != epoch) {
      own.before = own.epoch == epoch - 1 ? own.current : 0;
      own.current = 0;
      own.epoch = epoch;
    }
    own.current += posted[n].permits;
    const auto mine = static_cast<double>(own.current + own.before);
    own.share = mine / static_cast<double>(std::max<std::int64_t>(fleet[n], own.current + own.before));
  }
  std::erase_if(own_, [&](const auto& entry) { return epoch - entry.second.epoch > kKeptEpochs; });
  for (auto entry = own_.begin(); own_.size() > kMostShares;) entry = own_.erase(entry);
  auto made = std::make_shared<Shares>();
  made->instances = std::max<std::size_t>(instances, 1);
  for (const auto& [counter, own] : own_) made->of.emplace(counter, own.share);
  const std::lock_guard lock(mutex_);
  shares_ = std::move(made);
  heard_.store(instances, std::memory_order_relaxed);
  version_.fetch_add(1, std::memory_order_release);
}

}  // namespace weir::store
