// SPDX-License-Identifier: Apache-2.0
// What /metrics says of the ladder and the fleet: how often the shared store was given up and found again,
// and what this process knows of the others.
#include "app/gauges.hpp"

namespace weir::app {
namespace {

using telemetry::SampleFamily;
using telemetry::SampleKind;

SampleFamily one(std::string name, std::string help, SampleKind kind, double value) {
  return {std::move(name), std::move(help), kind, {{{}, value, {}}}};
}

SampleFamily sum(const Workers& workers, std::string name, std::string help,
                 std::atomic<std::uint64_t> store::LadderStats::* field) {
  double total = 0;
  for (const auto& worker : workers) {
    total += static_cast<double>((worker->stores().ladder()->stats().*field).load(std::memory_order_relaxed));
  }
  return one(std::move(name), std::move(help), SampleKind::counter, total);
}

}  // namespace

std::vector<SampleFamily> ladder_families(const Workers& workers, const store::FleetShare& fleet) {
  if (workers.empty() || workers.front()->stores().ladder() == nullptr) return {};
  using Stats = store::LadderStats;
  std::vector<SampleFamily> all{
      sum(workers, "weir_store_breaker_opened_total", "Times a worker gave the shared store up.",
          &Stats::opened),
      sum(workers, "weir_store_probes_total", "Calls that looked whether the shared store is back.",
          &Stats::probes),
      sum(workers, "weir_store_local_verdicts_total",
          "Layers judged by this instance's share while the shared store was ill.", &Stats::local),
      sum(workers, "weir_store_failed_open_total",
          "Layers passed uncounted because their on_store_failure says allow.", &Stats::failed_open),
      sum(workers, "weir_store_failed_shut_total", "Layers refused because their on_store_failure says deny.",
          &Stats::failed_shut),
      sum(workers, "weir_store_handed_in_permits_total",
          "Permits granted here while the shared store was ill and charged to it when it was back.",
          &Stats::handed_in),
      one("weir_store_live_instances", "Gateways of this node that the last heartbeat saw; 0: none yet.",
          SampleKind::gauge, static_cast<double>(fleet.heard())),
  };
  const store::FleetBeat* const beat = workers.front()->stores().beat();
  if (beat != nullptr && beat->clock_offset_ms() != store::FleetBeat::kUnknownOffset) {
    all.push_back(one("weir_store_clock_offset_seconds",
                      "The shared store's clock minus this host's. Windows are the store's.",
                      SampleKind::gauge, static_cast<double>(beat->clock_offset_ms()) / 1000));
  }
  const store::StoreCheck& check = *workers.front()->stores().check();
  SampleFamily findings{"weir_store_self_test",
                        "1: looking at a server of the shared store found this when it was connected to.",
                        SampleKind::gauge,
                        {}};
  for (const store::Finding finding : store::kAllFindings) {
    const double found = check.found(finding) ? 1 : 0;
    findings.samples.push_back({{{"finding", std::string(store::name_of(finding))}}, found, {}});
  }
  all.push_back(std::move(findings));
  if (workers.front()->stores().slots() != nullptr) {
    double charged = 0;
    double wasted = 0;
    for (const auto& worker : workers) {
      charged +=
          static_cast<double>(worker->stores().slots()->stats().charged.load(std::memory_order_relaxed));
      wasted += static_cast<double>(worker->stores().slots()->stats().wasted.load(std::memory_order_relaxed));
    }
    all.push_back(one("weir_store_split_permits_total",
                      "Permits charged by requests whose layers lay in several slots of a cluster.",
                      SampleKind::counter, charged));
    all.push_back(one("weir_store_wasted_permits_total",
                      "Those of them that a refused request left charged on another node.",
                      SampleKind::counter, wasted));
  }
  return all;
}

}  // namespace weir::app
