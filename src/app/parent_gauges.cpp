// SPDX-License-Identifier: Apache-2.0
// What /metrics says of the parent store that all regions share.
#include <algorithm>

#include "app/gauges.hpp"
#include "telemetry/families.hpp"

namespace weir::app {

std::vector<telemetry::SampleFamily> parent_families(const Workers& workers, const store::RegionPools* pools,
                                                     std::int64_t now_ms) {
  if (pools == nullptr || workers.empty()) return {};
  double connected = 0, at_hand = 0, asked = 0, wasted = 0, pooled = 0, alone = 0, ill = 0;
  double leases = 0, granted = 0, returned = 0;
  auto worst = store::StoreHealth::healthy;
  for (const auto& worker : workers) {
    const SharedStack& parent = *worker->stores().parent();
    const store::RegionStats& region = worker->stores().region()->stats();
    connected += parent.redis().connection_stats().ready.load() ? 1 : 0;
    worst = std::max(worst, parent.ladder().stats().health.load());
    at_hand += static_cast<double>(region.at_hand.load());
    asked += static_cast<double>(region.asked.load());
    wasted += static_cast<double>(region.wasted.load());
    const store::PoolStats& pool = parent.pool()->stats();
    pooled += static_cast<double>(pool.pooled.load());
    alone += static_cast<double>(pool.asked.load());
    ill += static_cast<double>(pool.ill.load());
    leases += static_cast<double>(pool.leases.load());
    granted += static_cast<double>(pool.granted.load());
    returned += static_cast<double>(pool.returned.load());
  }
  telemetry::SampleFamily requests{
      "weir_parent_requests_total",
      "Requests with global layers beside others: permits at hand, or the parent store was asked.",
      telemetry::SampleKind::counter,
      {{{{"decided", "at_hand"}}, at_hand, {}}, {{{"decided", "store"}}, asked, {}}}};
  telemetry::SampleFamily layers{
      "weir_parent_pool_layers_total",
      "Global layers beyond a gateway's own leases: decided by what the region holds, or asked of the parent "
      "one by one.",
      telemetry::SampleKind::counter,
      {{{{"decided", "region"}}, pooled, {}}, {{{"decided", "parent"}}, alone, {}}}};
  return {
      std::move(requests),
      std::move(layers),
      telemetry::gauge_family("weir_parent_state", "0 healthy, 1 brief failure, 2 long; the worst worker.",
                              static_cast<double>(worst)),
      telemetry::gauge_family("weir_parent_connected", "Workers with a connection to the parent store.",
                              connected),
      telemetry::gauge_family("weir_parent_permits_held",
                              "Permits of the parent store that the region holds, as this gateway last saw.",
                              static_cast<double>(pools->held(now_ms))),
      telemetry::counter_family("weir_parent_leases_total",
                                "Leases that this gateway fetched for its region.", leases),
      telemetry::counter_family("weir_parent_leased_permits_total", "Permits in them.", granted),
      telemetry::counter_family("weir_parent_permits_returned_total",
                                "Permits that this gateway gave back to the parent for its region, unused.",
                                returned),
      telemetry::counter_family("weir_parent_pool_failures_total",
                                "Requests for which the region's store did not say what it holds.", ill),
      telemetry::counter_family("weir_parent_wasted_permits_total",
                                "Permits of the region that a refusal of the parent store left charged.",
                                wasted)};
}

}  // namespace weir::app
