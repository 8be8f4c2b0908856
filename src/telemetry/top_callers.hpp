// SPDX-License-Identifier: Apache-2.0
// The heaviest callers as gauges, so that an alert can say who it is about (spec OB-4).
#pragma once

#include <cstdint>
#include <vector>

#include "telemetry/ranking.hpp"
#include "weir/telemetry/samples.hpp"

namespace weir::telemetry {

inline constexpr std::size_t kTopCallers = 20;
// A caller counts as soon as it surely had this many: a flood of made-up names, each seen once, makes no
// series.
inline constexpr std::uint64_t kTopCallerLeast = 10;

// weir_top_caller_requests{caller} and weir_top_caller_refusals{layer, caller}: the sixty to hundred and
// twenty seconds before `now_ms` (wall), at most kTopCallers of each layer. Any thread.
std::vector<SampleFamily> top_caller_families(const Rankings& workers, std::int64_t now_ms);

}  // namespace weir::telemetry
