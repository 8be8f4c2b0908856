// SPDX-License-Identifier: Apache-2.0
#include "store/region_pools.hpp"

#include <algorithm>

namespace weir::store {

void RegionPools::note(const limit::Charge& charge, const PoolAnswer& answer, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  auto found = entries_.find(charge.key);
  if (answer.live == 0 && answer.rest == 0) {
    if (found != entries_.end()) entries_.erase(found);
    return;
  }
  if (found == entries_.end()) {
    if (entries_.size() >= kMost) return;
    found = entries_.emplace(std::string(charge.key), Entry()).first;
    found->second.known.key = charge.key;
  }
  Entry& entry = found->second;
  entry.known.terms = charge.policy->terms;
  entry.known.request = charge.request;
  entry.live = answer.live;
  entry.ends_ms = now_ms + answer.live_ms;
  const std::int64_t due_ms = (answer.live > 0 ? entry.ends_ms : now_ms) + kAfterTheEndMs;
  entry.due_ms = answer.live > 0 ? due_ms : std::min(entry.due_ms, due_ms);
  next_due_ms_ = std::min(next_due_ms_, entry.due_ms);
}

std::vector<RegionPools::Known> RegionPools::due(std::int64_t now_ms) {
  std::vector<Known> all;
  const std::lock_guard lock(mutex_);
  if (now_ms < next_due_ms_) return all;
  next_due_ms_ = INT64_MAX;
  boost::unordered::erase_if(entries_, [&](auto& each) {
    Entry& entry = each.second;
    if (entry.due_ms > now_ms) {
      next_due_ms_ = std::min(next_due_ms_, entry.due_ms);
      return false;
    }
    all.push_back(std::move(entry.known));
    return true;
  });
  return all;
}

std::vector<RegionPools::Known> RegionPools::take_all() {
  std::vector<Known> all;
  const std::lock_guard lock(mutex_);
  for (auto& [key, entry] : entries_) all.push_back(std::move(entry.known));
  entries_.clear();
  next_due_ms_ = INT64_MAX;
  return all;
}

bool RegionPools::watches() const {
  const std::lock_guard lock(mutex_);
  return !entries_.empty();
}

std::int64_t RegionPools::held(std::int64_t now_ms) const {
  std::int64_t sum = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, entry] : entries_) sum += now_ms < entry.ends_ms ? entry.live : 0;
  return sum;
}

}  // namespace weir::store
