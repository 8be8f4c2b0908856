// SPDX-License-Identifier: Apache-2.0
#include "telemetry/worker_metrics.hpp"

#include <algorithm>

namespace weir::telemetry {
namespace {

template <std::size_t N>
std::size_t index_of(const std::array<std::string_view, N>& names, std::string_view name) noexcept {
  return static_cast<std::size_t>(std::find(names.begin(), names.end() - 1, name) - names.begin());
}

// 0 for "none".
std::size_t status_class(int status) noexcept {
  return status >= 100 && status < 600 ? static_cast<std::size_t>(status / 100) : 0;
}

std::size_t layer_outcome(const LayerRecord& layer) noexcept {
  if (layer.refused) return 1;
  if (layer.shadow_refused) return 2;
  return layer.warned ? 3 : 0;
}

// Whether the request went through the limiter, and how it came out: 1 allowed, 0 denied, -1 neither.
int allowed_of(std::size_t outcome) noexcept {
  constexpr std::size_t kAllowed = 0;
  constexpr std::size_t kNotJudged = 2;
  if (outcome == kAllowed) return 1;
  return outcome == kNotJudged || outcome + 1 == kRequestOutcomes.size() ? -1 : 0;
}

void count(AllowedDenied& pair, bool allowed) noexcept {
  (allowed ? pair.allowed : pair.denied).add();
}

}  // namespace

WorkerCounters::WorkerCounters(const MetricNames& names)
    : layers(names.layers.cap() + 1),
      callers(names.callers.cap() + 1),
      apis(names.apis.cap() + 1),
      endpoints(names.endpoints.cap() + 1),
      missing(names.dimensions.cap() + 1) {}

void WorkerMetrics::record(const RequestRecord& r) noexcept {
  WorkerCounters& c = counters_;
  const std::size_t outcome = index_of(kRequestOutcomes, r.outcome);
  c.outcomes[outcome].add();
  c.statuses[status_class(r.status)].add();
  if (r.status != 101) c.request_us.observe(r.duration_us);  // a tunnel's life says nothing of speed
  c.request_bytes.add(r.bytes_in);
  c.response_bytes.add(r.bytes_out);
  if (r.exempt) c.exempt.add();
  if (const int allowed = allowed_of(outcome); allowed >= 0) {
    c.limiter_us.observe(r.limiter_us);
    count(c.callers[finds_.callers.find(r.caller)], allowed == 1);
    count(c.apis[finds_.apis.find(r.api)], allowed == 1);
  }
  record_layers(r);
  record_upstream(r);
  ranking_.record(r, r.wall_ms);
}

void WorkerMetrics::record_layers(const RequestRecord& r) noexcept {
  if (!r.final_hit_layer.empty()) counters_.layers[finds_.layers.find(r.final_hit_layer)].final_hits.add();
  for (const LayerRecord& layer : r.layers) {
    LayerCounters& c = counters_.layers[finds_.layers.find(layer.layer)];
    c.decisions[layer_outcome(layer)].add();
    c.answers[std::min<std::size_t>(layer.answered, kAnswers.size() - 1)].add();
    if (layer.just_switched) c.charged_after_switch.add();
    const bool counted = layer.answered < 2 && layer.limit > 0;
    if (counted) c.fill.observe(layer.used * 100 / layer.limit);
  }
}

void WorkerMetrics::record_upstream(const RequestRecord& r) noexcept {
  const bool attempted = r.upstream_status != 0 || !r.upstream_error.empty();
  if (!attempted) return;
  std::array<char, 256> key;
  std::size_t size = 0;
  const auto append = [&](std::string_view text) {
    const std::size_t n = std::min(text.size(), key.size() - size);
    std::copy_n(text.begin(), n, key.begin() + static_cast<std::ptrdiff_t>(size));
    size += n;
  };
  append(r.upstream);
  append(" ");
  append(r.endpoint);
  const std::size_t outcome = r.upstream_error.empty() ? status_class(r.upstream_status)
                                                       : index_of(kUpstreamOutcomes, r.upstream_error);
  counters_.endpoints[finds_.endpoints.find({key.data(), size})][outcome].add();
  if (r.upstream_status != 0) counters_.upstream_us.observe(r.upstream_us);
}

void WorkerMetrics::malformed(int status) noexcept {
  counters_.malformed[status_class(status)].add();
}

void WorkerMetrics::identity_missing(std::string_view dimension, std::string_view policy) noexcept {
  counters_.missing[names_.dimensions.find(dimension)][index_of(kMissingPolicies, policy)].add();
}

void WorkerMetrics::authentication_failed(std::string_view reason) noexcept {
  counters_.auth_failures[index_of(kAuthFailures, reason)].add();
}

void WorkerMetrics::held(int change) noexcept {
  auto& held = counters_.held;
  held.store(held.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

}  // namespace weir::telemetry
