// SPDX-License-Identifier: Apache-2.0
// All metrics of the process: what workers count, what components report, and the text that Prometheus reads.
//
// Every series has a label set known from the configuration, so that their number does not depend on traffic:
// at most 256 callers and apis, 32 layers and 256 endpoints are told apart; the rest is `other`. The one
// exception is bounded too: the twenty heaviest callers (top_callers.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/worker_metrics.hpp"
#include "weir/telemetry/samples.hpp"

namespace weir::telemetry {

// What a configuration names; given at every load, and only ever added to.
struct ConfiguredNames {
  std::vector<std::string> layers;
  std::vector<std::string> callers;  // with an override of their own
  std::vector<std::string> apis;
  std::vector<std::string> dimensions;
  std::vector<std::pair<std::string, std::string>> endpoints;  // cluster, "host:port"
};

// Thread-safe, apart from the WorkerMetrics it hands out.
class Metrics {
 public:
  // `workers`: how many there will be. `version` goes into weir_build_info.
  Metrics(std::size_t workers, std::string_view version);

  WorkerMetrics& worker(std::size_t index) noexcept { return *workers_[index]; }

  void configure(const ConfiguredNames& names);
  void add_source(SampleSource source);

  // Reloads (spec RL-1): `generation` and `loaded_wall_ms` are the running configuration's.
  void reload_accepted(std::uint64_t generation, std::int64_t loaded_wall_ms) noexcept;
  void reload_rejected() noexcept { reloads_rejected_.fetch_add(1, std::memory_order_relaxed); }

  // All families, unsorted; and as the text exposition format 0.0.4.
  std::vector<SampleFamily> families() const;
  std::string exposition() const;
  // Who sends most and who is refused most, this minute and the last, as JSON (ranking.hpp).
  std::string rankings() const;

  const MetricNames& names() const noexcept { return names_; }
  std::vector<const WorkerCounters*> counters() const;

 private:
  std::vector<SampleFamily> process_families() const;
  Rankings worker_rankings() const;

  MetricNames names_;
  std::vector<std::unique_ptr<WorkerMetrics>> workers_;
  const std::string version_;
  std::int64_t started_wall_ms_ = 0;
  std::atomic<std::uint64_t> reloads_accepted_{0};
  std::atomic<std::uint64_t> reloads_rejected_{0};
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::int64_t> loaded_wall_ms_{0};
  mutable std::mutex mutex_;  // guards sources_
  std::vector<SampleSource> sources_;
};

}  // namespace weir::telemetry
