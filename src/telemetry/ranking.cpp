// SPDX-License-Identifier: Apache-2.0
#include "telemetry/ranking.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "telemetry/json_line.hpp"

namespace weir::telemetry {
namespace {

constexpr std::size_t kShown = 100;
constexpr std::uint64_t kAllPerSecond = 1000;
constexpr std::uint64_t kStride = 16;

void add_names(StringMap<HeavyNames::Weight>& sums, const HeavyNames& names) {
  for (const auto& [name, weight] : names.names()) {
    HeavyNames::Weight& sum = sums[name];
    sum.count += weight.count;
    sum.error += weight.error;
  }
}

// Only the shown names are copied: there may be thousands, and this runs while they are looked at.
std::vector<Ranked> heaviest(const StringMap<HeavyNames::Weight>& sums, std::size_t most) {
  using Entry = const StringMap<HeavyNames::Weight>::value_type*;
  std::vector<Entry> all;
  all.reserve(sums.size());
  for (const auto& entry : sums) all.push_back(&entry);
  const auto heavier = [](Entry a, Entry b) {
    return a->second.count != b->second.count ? a->second.count > b->second.count : a->first < b->first;
  };
  const auto shown = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), shown, all.end(), heavier);
  all.erase(shown, all.end());
  std::vector<Ranked> out;
  for (const Entry entry : all) out.push_back({entry->first, entry->second.count, entry->second.error});
  return out;
}

}  // namespace

void HeavyNames::add(std::string_view name, std::uint64_t weight) {
  std::string shortened;
  if (name.size() > kNameBytes) {
    shortened = std::string(name.substr(0, kNameBytes / 2)) + "..." + digest_hex(name);
    name = shortened;
  }
  auto found = names_.find(name);
  if (found == names_.end()) {
    if (names_.size() >= kRoom) drop_lighter_half();
    found = names_.emplace(std::string(name), Weight{floor_, floor_}).first;
  }
  found->second.count += weight;
}

void HeavyNames::drop_lighter_half() {
  std::vector<std::uint64_t> counts;
  counts.reserve(names_.size());
  for (const auto& [name, weight] : names_) counts.push_back(weight.count);
  const auto middle = counts.begin() + kKept;
  std::nth_element(counts.begin(), middle, counts.end(), std::greater<>());
  floor_ = *middle;
  // More may equal the middle than there is room for: they go, and are what the floor stands for.
  for (auto name = names_.begin(); name != names_.end();) {
    if (name->second.count > floor_) {
      ++name;
    } else {
      names_.erase(name++);
    }
  }
}

void HeavyNames::clear() {
  names_.clear();
  floor_ = 0;
}

std::uint64_t WorkerRanking::weight_of_next(std::int64_t now_ms) noexcept {
  const std::int64_t second = now_ms / 1000;
  if (second != second_) seen_ = 0;
  second_ = second;
  if (++seen_ <= kAllPerSecond) return 1;
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_ % kStride == 0 ? kStride : 0;
}

void WorkerRanking::start_minute(std::int64_t minute) {
  running_ = 1 - running_;
  const bool adjacent = minute == minute_ + 1;
  for (std::size_t n = 0; n < minutes_.size(); ++n) {
    if (adjacent && n != running_) continue;
    for (auto& kind : minutes_[n].names) {
      for (HeavyNames& names : kind) names.clear();
    }
    minutes_[n].refused.clear();
  }
  minute_ = minute;
}

void WorkerRanking::note_refused(const RequestRecord& r, std::uint64_t weight) {
  if (r.caller.empty()) return;
  refused_name_.assign(r.final_hit_layer);
  refused_name_ += kLayerEnd;
  refused_name_ += r.caller;
  minutes_[running_].refused.add(refused_name_, weight);
}

void WorkerRanking::record(const RequestRecord& r, std::int64_t now_ms) noexcept {
  const std::uint64_t weight = weight_of_next(now_ms);
  if (weight == 0) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  try {
    if (now_ms / kMinuteMs != minute_) start_minute(now_ms / kMinuteMs);
    const std::array<std::string_view, kKinds.size()> values{r.caller, r.user, r.api};
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (values[n].empty()) continue;
      auto& names = minutes_[running_].names[n];
      names[0].add(values[n], weight);
      if (!r.final_hit_layer.empty()) names[1].add(values[n], weight);
    }
    if (!r.final_hit_layer.empty()) note_refused(r, weight);
  } catch (...) {
    // Out of memory: a ranking can miss a request, a request cannot miss its answer.
  }
}

bool WorkerRanking::is_over(std::size_t minute_index, std::int64_t now_ms) const noexcept {
  const std::int64_t minute = minute_index == running_ ? minute_ : minute_ - 1;
  return now_ms / kMinuteMs - minute > 1;
}

void WorkerRanking::add_to(StringMap<HeavyNames::Weight>& sums, std::string_view kind, RankedBy by,
                           std::int64_t now_ms) const {
  const auto at = std::find(kKinds.begin(), kKinds.end(), kind);
  if (at == kKinds.end()) return;
  const auto n = static_cast<std::size_t>(at - kKinds.begin());
  const std::lock_guard lock(mutex_);
  for (std::size_t m = 0; m < minutes_.size(); ++m) {
    if (!is_over(m, now_ms)) add_names(sums, minutes_[m].names[n][static_cast<std::size_t>(by)]);
  }
}

void WorkerRanking::add_refused(StringMap<HeavyNames::Weight>& sums, std::int64_t now_ms) const {
  const std::lock_guard lock(mutex_);
  for (std::size_t m = 0; m < minutes_.size(); ++m) {
    if (!is_over(m, now_ms)) add_names(sums, minutes_[m].refused);
  }
}

std::vector<Ranked> ranking(const Rankings& workers, std::string_view kind, RankedBy by, std::size_t most,
                            std::int64_t now_ms) {
  StringMap<HeavyNames::Weight> sums;
  for (const WorkerRanking* worker : workers) worker->add_to(sums, kind, by, now_ms);
  return heaviest(sums, most);
}

namespace {

// Callers by the layer that refused them: ,"refused":[{"layer":"user","name":"a","count":5,"error":0},...]
void append_refused(std::string& out, const Rankings& workers, std::int64_t now_ms) {
  StringMap<HeavyNames::Weight> sums;
  for (const WorkerRanking* worker : workers) worker->add_refused(sums, now_ms);
  out += ",\"refused\":[";
  const char* comma = "";
  for (const Ranked& each : heaviest(sums, kShown)) {
    const auto split = each.name.find(kLayerEnd);
    out += comma;
    comma = ",";
    JsonLine(out)
        .text("layer", std::string_view(each.name).substr(0, split))
        .text("name", std::string_view(each.name).substr(split + 1))
        .number("count", static_cast<std::int64_t>(each.count))
        .number("error", static_cast<std::int64_t>(each.error))
        .end();
    out.pop_back();  // the line's end
  }
  out += ']';
}

}  // namespace

std::string ranking_json(const Rankings& workers, std::int64_t now_ms) {
  std::string out = "{\"window_s\":[60,120]";
  for (const std::string_view kind : {"caller", "user", "api"}) {
    out += ",\"";
    out += kind;
    out += "\":{";
    for (const RankedBy by : {RankedBy::requests, RankedBy::refusals}) {
      out += by == RankedBy::requests ? "\"requests\":[" : ",\"refusals\":[";
      bool first = true;
      for (const Ranked& each : ranking(workers, kind, by, kShown, now_ms)) {
        if (!first) out += ',';
        first = false;
        JsonLine(out)
            .text("name", each.name)
            .number("count", static_cast<std::int64_t>(each.count))
            .number("error", static_cast<std::int64_t>(each.error))
            .end();
        out.pop_back();  // the line's end
      }
      out += ']';
    }
    out += '}';
  }
  append_refused(out, workers, now_ms);
  out += "}\n";
  return out;
}

}  // namespace weir::telemetry
