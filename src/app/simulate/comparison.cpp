// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/comparison.hpp"

#include <algorithm>
#include <tuple>

namespace weir::app {
namespace {

constexpr std::string_view kNobody = "(anonymous)";
constexpr std::size_t kNoLayer = SIZE_MAX;

auto weight_of(const Tally& tally) {
  return std::tuple(tally.newly_refused, tally.newly_allowed, tally.refused[renewed], tally.requests);
}

void count(std::vector<std::uint64_t>& counts, std::size_t at, std::uint64_t more = 1) {
  if (counts.size() <= at) counts.resize(at + 1);
  counts[at] += more;
}

}  // namespace

void Tally::add(const Verdicts& verdicts, std::size_t layer) {
  const bool before = verdicts.side[in_force].refused;
  const bool after = verdicts.side[renewed].refused;
  ++requests;
  refused[in_force] += before ? 1 : 0;
  refused[renewed] += after ? 1 : 0;
  newly_refused += after && !before ? 1 : 0;
  newly_allowed += before && !after ? 1 : 0;
  if (!after) return;
  if (layer != kNoLayer) count(by_layer, layer);
  first_ms = first_ms == 0 ? verdicts.time_ms : std::min(first_ms, verdicts.time_ms);
  last_ms = std::max(last_ms, verdicts.time_ms);
}

void Tally::add(const Tally& other) {
  requests += other.requests;
  for (std::size_t side = 0; side < refused.size(); ++side) refused[side] += other.refused[side];
  newly_refused += other.newly_refused;
  newly_allowed += other.newly_allowed;
  for (std::size_t n = 0; n < other.by_layer.size(); ++n) count(by_layer, n, other.by_layer[n]);
  if (other.first_ms == 0) return;
  first_ms = first_ms == 0 ? other.first_ms : std::min(first_ms, other.first_ms);
  last_ms = std::max(last_ms, other.last_ms);
}

void TallyTable::add(std::string_view name, const Verdicts& verdicts, std::size_t layer) {
  auto found = names_.find(name);
  if (found == names_.end()) {
    if (names_.size() >= kRoom) drop_lighter_half();
    found = names_.emplace(std::string(name), Tally()).first;
  }
  found->second.add(verdicts, layer);
}

void TallyTable::drop_lighter_half() {
  std::vector<std::pair<std::string, Tally>> all;
  all.reserve(names_.size());
  for (auto& [name, tally] : names_) all.emplace_back(name, std::move(tally));
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [](const auto& a, const auto& b) { return weight_of(a.second) > weight_of(b.second); });
  names_.clear();
  for (auto each = all.begin(); each != middle; ++each) {
    names_.emplace(std::move(each->first), std::move(each->second));
  }
  for (auto each = middle; each != all.end(); ++each) others_.add(each->second);
  dropped_ += static_cast<std::uint64_t>(all.end() - middle);
}

std::vector<std::pair<std::string, Tally>> TallyTable::top(std::size_t most) const {
  std::vector<std::pair<std::string, Tally>> all(names_.begin(), names_.end());
  const std::size_t wanted = std::min(most, all.size());
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::partial_sort(all.begin(), end, all.end(), [](const auto& a, const auto& b) {
    return weight_of(a.second) != weight_of(b.second) ? weight_of(a.second) > weight_of(b.second)
                                                      : a.first < b.first;
  });
  all.resize(wanted);
  return all;
}

std::size_t TallyTable::newly_refused() const {
  return static_cast<std::size_t>(std::count_if(
      names_.begin(), names_.end(), [](const auto& each) { return each.second.newly_refused != 0; }));
}

std::size_t Comparison::layer_index(std::string_view name) {
  const auto found = std::find(layers_.begin(), layers_.end(), name);
  if (found != layers_.end()) return static_cast<std::size_t>(found - layers_.begin());
  layers_.emplace_back(name);
  return layers_.size() - 1;
}

void Comparison::add(const Verdicts& verdicts) {
  std::size_t layer = kNoLayer;
  for (const Side side : {in_force, renewed}) {
    const Verdicts::One& one = verdicts.side[side];
    delayed_[side] += one.delayed ? 1 : 0;
    if (!one.shadow_layer.empty()) count(shadow_by_[side], layer_index(one.shadow_layer));
    if (one.layer.empty()) continue;
    layer = layer_index(one.layer);
    count(refused_by_[side], layer);
  }
  if (verdicts.side[renewed].layer.empty()) layer = kNoLayer;
  for (auto* counts : {&refused_by_[0], &refused_by_[1], &shadow_by_[0], &shadow_by_[1]}) {
    counts->resize(layers_.size());
  }
  all_.add(verdicts, layer);
  callers_.add(verdicts.caller.empty() ? kNobody : verdicts.caller, verdicts, layer);
  apis_.add(verdicts.api, verdicts, layer);
  if (!verdicts.user.empty()) {
    name_ = verdicts.caller.empty() ? kNobody : verdicts.caller;
    name_ += " / ";
    name_ += verdicts.user;
    users_.add(name_, verdicts, layer);
  }
  add_to_intervals(verdicts);
}

// Intervals double in length when the log turns out to be longer than they reach.
void Comparison::add_to_intervals(const Verdicts& verdicts) {
  if (all_.requests == 1) start_ms_ = end_ms_ = verdicts.time_ms;
  end_ms_ = std::max(end_ms_, verdicts.time_ms);
  const std::int64_t since = std::max<std::int64_t>(0, verdicts.time_ms - start_ms_);
  while (since / interval_ms_ >= static_cast<std::int64_t>(kIntervals)) {
    for (std::size_t n = 0; n < intervals_.size(); n += 2) {
      Interval both = intervals_[n];
      if (n + 1 < intervals_.size()) {
        both.requests += intervals_[n + 1].requests;
        both.refused[0] += intervals_[n + 1].refused[0];
        both.refused[1] += intervals_[n + 1].refused[1];
      }
      intervals_[n / 2] = both;
    }
    intervals_.resize((intervals_.size() + 1) / 2);
    interval_ms_ *= 2;
  }
  const auto at = static_cast<std::size_t>(since / interval_ms_);
  if (intervals_.size() <= at) intervals_.resize(at + 1);
  ++intervals_[at].requests;
  for (const Side side : {in_force, renewed}) {
    intervals_[at].refused[side] += verdicts.side[side].refused ? 1 : 0;
  }
}

}  // namespace weir::app
