// SPDX-License-Identifier: Apache-2.0
#include "telemetry/exposition.hpp"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <map>

#include "telemetry/json_line.hpp"

namespace weir::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricType type_of(SampleKind kind) {
  switch (kind) {
    case SampleKind::counter:
      return MetricType::Counter;
    case SampleKind::gauge:
      return MetricType::Gauge;
    case SampleKind::histogram:
      break;
  }
  return MetricType::Histogram;
}

// The serialiser escapes label values but takes any octet, and does not escape help texts at all.
std::string clean_label(const std::string& value) {
  const bool ascii = std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (ascii) return value;
  std::string out;
  append_json_text(out, value);
  return out;
}

std::string clean_help(std::string help) {
  std::replace_if(help.begin(), help.end(), [](char c) { return c == '\\' || (c >= 0 && c < 0x20); }, ' ');
  return help;
}

ClientMetric::Histogram histogram_of(const HistogramValue& value) {
  ClientMetric::Histogram out;
  out.sample_sum = value.sum;
  for (std::size_t n = 0; n < value.counts.size(); ++n) {
    out.sample_count += value.counts[n];
    const bool last = n >= value.bounds.size();
    out.bucket.push_back(
        {out.sample_count, last ? std::numeric_limits<double>::infinity() : value.bounds[n]});
  }
  return out;
}

ClientMetric metric_of(SampleKind kind, const Sample& sample) {
  ClientMetric metric;
  for (const auto& [name, value] : sample.labels) metric.label.push_back({name, clean_label(value)});
  if (kind == SampleKind::counter) metric.counter.value = sample.value;
  if (kind == SampleKind::gauge) metric.gauge.value = sample.value;
  if (kind == SampleKind::histogram) metric.histogram = histogram_of(sample.histogram);
  return metric;
}

// What prometheus-cpp collects from: families that were summed just now.
class Collected final : public prometheus::Collectable {
 public:
  explicit Collected(std::vector<SampleFamily> families) : families_(std::move(families)) {}

  std::vector<MetricFamily> Collect() const override {
    std::map<std::string, MetricFamily> by_name;
    for (const SampleFamily& family : families_) {
      MetricFamily& merged = by_name[family.name];
      if (merged.name.empty()) {
        merged.name = family.name;
        merged.help = clean_help(family.help);
        merged.type = type_of(family.kind);
      }
      if (merged.type != type_of(family.kind)) continue;
      for (const Sample& sample : family.samples) merged.metric.push_back(metric_of(family.kind, sample));
    }
    std::vector<MetricFamily> all;
    for (auto& [name, family] : by_name) all.push_back(std::move(family));
    return all;
  }

 private:
  std::vector<SampleFamily> families_;
};

}  // namespace

std::string expose(std::vector<SampleFamily> families) {
  const Collected collected(std::move(families));
  return prometheus::TextSerializer().Serialize(collected.Collect());
}

}  // namespace weir::telemetry
