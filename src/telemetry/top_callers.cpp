// SPDX-License-Identifier: Apache-2.0
#include "telemetry/top_callers.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace weir::telemetry {
namespace {

bool is_sure(std::uint64_t count, std::uint64_t error) noexcept {
  return count >= error + kTopCallerLeast;
}

SampleFamily requests_of(const Rankings& workers, std::int64_t now_ms) {
  SampleFamily out{"weir_top_caller_requests",
                   "Requests of the busiest callers in this minute and the last",
                   SampleKind::gauge,
                   {}};
  for (const Ranked& each : ranking(workers, "caller", RankedBy::requests, kTopCallers, now_ms)) {
    if (!is_sure(each.count, each.error)) continue;
    out.samples.push_back({{{"caller", each.name}}, static_cast<double>(each.count), {}});
  }
  return out;
}

SampleFamily refusals_of(const Rankings& workers, std::int64_t now_ms) {
  StringMap<HeavyNames::Weight> sums;
  for (const WorkerRanking* worker : workers) worker->add_refused(sums, now_ms);
  std::map<std::string, std::vector<Ranked>> by_layer;
  for (const auto& [name, weight] : sums) {
    if (!is_sure(weight.count, weight.error)) continue;
    const auto split = name.find(kLayerEnd);
    by_layer[name.substr(0, split)].push_back({name.substr(split + 1), weight.count, weight.error});
  }
  SampleFamily out{"weir_top_caller_refusals",
                   "Requests of callers refused most, by the layer that refused, in this minute and the last",
                   SampleKind::gauge,
                   {}};
  for (auto& [layer, callers] : by_layer) {
    std::ranges::sort(callers, std::greater<>(), &Ranked::count);
    callers.resize(std::min(callers.size(), kTopCallers));
    for (const Ranked& each : callers) {
      out.samples.push_back({{{"layer", layer}, {"caller", each.name}}, static_cast<double>(each.count), {}});
    }
  }
  return out;
}

}  // namespace

std::vector<SampleFamily> top_caller_families(const Rankings& workers, std::int64_t now_ms) {
  return {requests_of(workers, now_ms), refusals_of(workers, now_ms)};
}

}  // namespace weir::telemetry
