// SPDX-License-Identifier: Apache-2.0
#include "telemetry/metrics.hpp"

#include <iterator>

#include "telemetry/exposition.hpp"
#include "telemetry/families.hpp"
#include "telemetry/log.hpp"
#include "telemetry/top_callers.hpp"
#include "weir/base/append.hpp"
#include "weir/base/clock.hpp"

namespace weir::telemetry {

Metrics::Metrics(std::size_t workers, std::string_view version)
    : version_(version), started_wall_ms_(system_clock().wall_ms()) {
  for (std::size_t n = 0; n < workers; ++n) workers_.push_back(std::make_unique<WorkerMetrics>(names_));
}

void Metrics::configure(const ConfiguredNames& names) {
  names_.layers.add(names.layers);
  names_.callers.add(names.callers);
  names_.apis.add(names.apis);
  names_.dimensions.add(names.dimensions);
  std::vector<std::string> endpoints;
  for (const auto& [cluster, endpoint] : names.endpoints)
    append(endpoints.emplace_back(cluster), " ", endpoint);
  names_.endpoints.add(endpoints);
}

void Metrics::add_source(SampleSource source) {
  const std::lock_guard lock(mutex_);
  sources_.push_back(std::move(source));
}

void Metrics::reload_accepted(std::uint64_t generation, std::int64_t loaded_wall_ms) noexcept {
  reloads_accepted_.fetch_add(1, std::memory_order_relaxed);
  generation_.store(generation, std::memory_order_relaxed);
  loaded_wall_ms_.store(loaded_wall_ms, std::memory_order_relaxed);
}

std::vector<const WorkerCounters*> Metrics::counters() const {
  std::vector<const WorkerCounters*> all;
  for (const auto& worker : workers_) all.push_back(&worker->counters());
  return all;
}

std::vector<SampleFamily> Metrics::process_families() const {
  const auto accepted = static_cast<double>(reloads_accepted_.load(std::memory_order_relaxed));
  const auto rejected = static_cast<double>(reloads_rejected_.load(std::memory_order_relaxed));
  const std::int64_t loaded_ms = loaded_wall_ms_.load(std::memory_order_relaxed);
  const std::int64_t age_ms = loaded_ms == 0 ? 0 : system_clock().wall_ms() - loaded_ms;
  std::vector<SampleFamily> out;
  out.push_back({"weir_build_info",
                 "Version of the gateway; always 1",
                 SampleKind::gauge,
                 {{{{"version", version_}}, 1, {}}}});
  out.push_back(gauge_family("weir_start_time_seconds", "When the process started, seconds since the epoch",
                             static_cast<double>(started_wall_ms_) / 1000));
  out.push_back({"weir_config_reloads_total",
                 "Configuration loads by result",
                 SampleKind::counter,
                 {{{{"result", "accepted"}}, accepted, {}}, {{{"result", "rejected"}}, rejected, {}}}});
  out.push_back(gauge_family("weir_config_generation",
                             "Successful loads so far; changes when a reload takes effect",
                             static_cast<double>(generation_.load(std::memory_order_relaxed))));
  out.push_back(gauge_family("weir_config_age_seconds", "Time since the running configuration was loaded",
                             static_cast<double>(age_ms) / 1000));
  out.push_back(counter_family("weir_log_lines_suppressed_total",
                               "Lines of the program's log left out because their cause had just been logged",
                               static_cast<double>(log_lines_suppressed())));
  out.push_back(counter_family("weir_log_lines_dropped_total",
                               "Lines of the program's log lost because its sink was too slow",
                               static_cast<double>(log_lines_dropped())));
  return out;
}

std::vector<SampleFamily> Metrics::families() const {
  std::vector<SampleFamily> out = worker_families(names_, counters());
  const auto append = [&out](std::vector<SampleFamily> more) {
    out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  append(process_families());
  append(top_caller_families(worker_rankings(), system_clock().wall_ms()));
  std::vector<SampleSource> sources;
  {
    const std::lock_guard lock(mutex_);
    sources = sources_;
  }
  for (const SampleSource& source : sources) append(source());
  return out;
}

Rankings Metrics::worker_rankings() const {
  Rankings all;
  for (const auto& worker : workers_) all.push_back(&worker->ranking());
  return all;
}

std::string Metrics::rankings() const {
  return ranking_json(worker_rankings(), system_clock().wall_ms());
}

std::string Metrics::exposition() const {
  return expose(families());
}

}  // namespace weir::telemetry
