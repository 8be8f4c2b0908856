// SPDX-License-Identifier: Apache-2.0
// Sums what workers counted into metric families.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "telemetry/worker_metrics.hpp"
#include "weir/telemetry/samples.hpp"

namespace weir::telemetry {

// Families of every worker's counters. Series of configured layers are there from the start with 0; those of
// callers, apis and endpoints appear with their first request.
std::vector<SampleFamily> worker_families(const MetricNames& names,
                                          const std::vector<const WorkerCounters*>& workers);

// One series without labels.
SampleFamily gauge_family(std::string name, std::string help, double value);
SampleFamily counter_family(std::string name, std::string help, double value);
// The sum of histograms that observe microseconds and share their bounds, in seconds.
SampleFamily histogram_family(std::string name, std::string help,
                              std::span<const Histogram* const> microseconds);
// Likewise of histograms that observe how many there are of something.
SampleFamily count_histogram_family(std::string name, std::string help,
                                    std::span<const Histogram* const> counts);

}  // namespace weir::telemetry
