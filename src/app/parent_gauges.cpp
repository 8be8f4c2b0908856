// SPDX-License-Identifier: Apache-2.0
// What /metrics says of the parent store that all regions share.
#include <algorithm>

#include "app/gauges.hpp"
#include "telemetry/families.hpp"

namespace weir::app {

std::vector<telemetry::SampleFamily> parent_families(const Workers& workers, store::LeasePool* pool) {
  if (pool == nullptr || workers.empty()) return {};
  double connected = 0, at_hand = 0, asked = 0, wasted = 0;
  auto worst = store::StoreHealth::healthy;
  for (const auto& worker : workers) {
    const SharedStack& parent = *worker->stores().parent();
    const store::RegionStats& region = worker->stores().region()->stats();
    connected += parent.redis().connection_stats().ready.load() ? 1 : 0;
    worst = std::max(worst, parent.ladder().stats().health.load());
    at_hand += static_cast<double>(region.at_hand.load());
    asked += static_cast<double>(region.asked.load());
    wasted += static_cast<double>(region.wasted.load());
  }
  telemetry::SampleFamily requests{
      "weir_parent_requests_total",
      "Requests with global layers beside others: permits at hand, or the parent store was asked.",
      telemetry::SampleKind::counter,
      {{{{"decided", "at_hand"}}, at_hand, {}}, {{{"decided", "store"}}, asked, {}}}};
  return {
      std::move(requests),
      telemetry::gauge_family("weir_parent_state", "0 healthy, 1 brief failure, 2 long; the worst worker.",
                              static_cast<double>(worst)),
      telemetry::gauge_family("weir_parent_connected", "Workers with a connection to the parent store.",
                              connected),
      telemetry::gauge_family("weir_parent_permits_held", "Permits of the parent store at hand now.",
                              static_cast<double>(pool->held())),
      telemetry::counter_family("weir_parent_wasted_permits_total",
                                "Permits of the region that a refusal of the parent store left charged.",
                                wasted)};
}

}  // namespace weir::app
