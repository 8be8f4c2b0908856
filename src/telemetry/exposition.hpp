// SPDX-License-Identifier: Apache-2.0
// Metric families as text that Prometheus reads (exposition format 0.0.4), by way of prometheus-cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/telemetry/samples.hpp"

namespace weir::telemetry {

inline constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

// Families of one name become one; label values that are no UTF-8 and help texts that would break the page
// are mended, so that whatever a source says, the page stays readable.
std::string expose(std::vector<SampleFamily> families);

}  // namespace weir::telemetry
