// SPDX-License-Identifier: Apache-2.0
// How much of the counting permit leases take off the shared store.
#include "app/gauges.hpp"
#include "telemetry/families.hpp"

namespace weir::app {
namespace {

using telemetry::SampleFamily;
using telemetry::SampleKind;

template <class Value>
double sum(const Workers& workers, Value value) {
  double total = 0;
  for (const auto& worker : workers)
    total += static_cast<double>((worker->stores().leases()->stats().*value).load(std::memory_order_relaxed));
  return total;
}

SampleFamily sizes(const Workers& workers) {
  std::vector<const telemetry::Histogram*> parts;
  for (const auto& worker : workers) parts.push_back(&worker->stores().leases()->stats().sizes);
  return telemetry::count_histogram_family("weir_lease_size_permits", "Permits that one lease brought.",
                                           parts);
}

}  // namespace

std::vector<SampleFamily> lease_families(const Workers& workers, store::LeasePool* pool) {
  if (pool == nullptr || workers.empty()) return {};
  using Stats = store::LeaseStoreStats;
  SampleFamily requests{
      "weir_lease_requests_total",
      "Requests by how they were decided: permits at hand, a refusal that was known, or the store.",
      SampleKind::counter,
      {{{{"decided", "at_hand"}}, sum(workers, &Stats::hits), {}},
       {{{"decided", "known_refusal"}}, sum(workers, &Stats::denials), {}},
       {{{"decided", "store"}}, sum(workers, &Stats::asked), {}}}};
  SampleFamily calls{"weir_lease_background_calls_total",
                     "Store calls that no request waited for: leases fetched ahead, permits given back.",
                     SampleKind::counter,
                     {{{{"purpose", "fetch"}}, sum(workers, &Stats::fetches), {}},
                      {{{"purpose", "return"}}, sum(workers, &Stats::returns), {}}}};
  const store::LeasePoolStats& stats = pool->stats();
  return {
      std::move(requests),
      std::move(calls),
      sizes(workers),
      telemetry::counter_family("weir_lease_permits_returned_total", "Permits of leases given back unused.",
                                static_cast<double>(stats.returned.load())),
      telemetry::counter_family("weir_lease_permits_lapsed_total",
                                "Permits of leases that nobody used and nobody got back: their window was "
                                "over, or the call that gave "
                                "them back was not answered.",
                                static_cast<double>(stats.lapsed.load())),
      telemetry::counter_family("weir_lease_debt_permits_total",
                                "Permits passed ahead of the lease that was on its way (store.lease.debt).",
                                static_cast<double>(stats.debt.load())),
      telemetry::gauge_family("weir_lease_permits_held", "Permits at hand now.",
                              static_cast<double>(pool->held()))};
}

}  // namespace weir::app
