// SPDX-License-Identifier: Apache-2.0
#include "telemetry/traffic_history.hpp"

#include <algorithm>

#include "telemetry/json_line.hpp"
#include "telemetry/metrics.hpp"
#include "weir/base/append.hpp"

namespace weir::telemetry {
namespace {

template <std::size_t N>
constexpr std::size_t place_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}
constexpr std::size_t kAllowed = place_of(kRequestOutcomes, "allowed");
constexpr std::size_t kNotJudged = place_of(kRequestOutcomes, "not_judged");
constexpr std::size_t kOther = place_of(kRequestOutcomes, "other");
constexpr std::size_t kFiveHundreds = place_of(kStatusClasses, "5xx");

std::string names_json(std::span<const std::string> names) {
  std::string out = "[";
  for (const std::string& name : names) {
    if (out.size() > 1) out += ',';
    out += '"';
    append_json_text(out, name);
    out += '"';
  }
  return out + ']';
}

}  // namespace

void TrafficHistory::sample(const Metrics& metrics, std::int64_t wall_ms) {
  Point point;
  point.wall_ms = wall_ms;
  const auto names = metrics.names().layers.names();
  const std::size_t layers = std::min(names.size(), kLayers);
  for (const WorkerCounters* worker : metrics.counters()) {
    for (std::size_t n = 0; n < kRequestOutcomes.size(); ++n) {
      if (n == kNotJudged || n == kOther) continue;
      (n == kAllowed ? point.allowed : point.refused) += worker->outcomes[n].value();
    }
    point.failed += worker->statuses[kFiveHundreds].value();
    for (std::size_t n = 0; n < layers; ++n) point.by_layer[n] += worker->layers[n].final_hits.value();
  }
  const std::lock_guard lock(mutex_);
  ++taken_;
  points_[taken_ % kPoints] = point;
  if (layers != layer_count_ || layers_.empty()) layers_ = names_json(names.first(layers));
  layer_count_ = layers;
}

void TrafficHistory::append_json(std::string& out, std::uint64_t since) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t oldest = taken_ < kPoints ? 1 : taken_ - kPoints + 1;
  const std::uint64_t first = since > taken_ ? oldest : std::max(oldest, since + 1);
  out += "{\"layers\":";
  out += layers_.empty() ? "[]" : layers_;
  out += ",\"points\":[";
  for (std::uint64_t seq = first; seq <= taken_; ++seq) {
    if (seq != first) out += ',';
    append_point(out, seq);
  }
  out += "]}";
}

void TrafficHistory::append_point(std::string& out, std::uint64_t seq) const {
  const Point& point = points_[seq % kPoints];
  append(out, "[", seq, ",", point.wall_ms, ",", point.allowed, ",", point.refused, ",", point.failed);
  for (std::size_t n = 0; n < layer_count_; ++n) append(out, ",", point.by_layer[n]);
  out += ']';
}

}  // namespace weir::telemetry
