// SPDX-License-Identifier: Apache-2.0
// Figures that a component keeps itself and shows at a scrape. Telemetry asks through a function and depends
// on nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir::telemetry {

using Labels = std::vector<std::pair<std::string, std::string>>;

enum class SampleKind : std::uint8_t { counter, gauge, histogram };

struct HistogramValue {
  std::vector<double> bounds;         // upper bounds, rising; the last bucket is above them all
  std::vector<std::uint64_t> counts;  // per bucket, not cumulative; one more than bounds
  double sum = 0;
};

struct Sample {
  Labels labels;
  double value = 0;          // counter, gauge
  HistogramValue histogram;  // histogram
};

// `name` starts with weir_, counters end in _total; `help` has no newline and no backslash. Families of one
// name from several sources are merged; their label sets must differ.
struct SampleFamily {
  std::string name;
  std::string help;
  SampleKind kind = SampleKind::gauge;
  std::vector<Sample> samples;
};

// Called at each scrape, on the scraping thread: reads atomics or takes short locks, never waits for a
// worker.
using SampleSource = std::function<std::vector<SampleFamily>()>;

}  // namespace weir::telemetry
