// SPDX-License-Identifier: Apache-2.0
#include "app/gauges.hpp"

#include <algorithm>

#include "telemetry/families.hpp"

namespace weir::app {
namespace {

using telemetry::Labels;
using telemetry::SampleFamily;
using telemetry::SampleKind;

SampleFamily family(std::string name, std::string help, SampleKind kind) {
  return {std::move(name), std::move(help), kind, {}};
}

void add(SampleFamily& to, Labels labels, double value) {
  to.samples.push_back({std::move(labels), value, {}});
}

template <class Value>
double sum(const Workers& workers, Value value) {
  double total = 0;
  for (const auto& worker : workers) total += static_cast<double>(value(*worker));
  return total;
}

SampleFamily one(std::string name, std::string help, SampleKind kind, double value) {
  SampleFamily result = family(std::move(name), std::move(help), kind);
  add(result, {}, value);
  return result;
}

}  // namespace

std::vector<SampleFamily> connection_families(const Workers& workers, const http::ConnectionBudget& budget) {
  const auto of = [&](auto field) {
    return sum(workers, [&](const Worker& worker) {
      return (worker.server_stats().*field).load(std::memory_order_relaxed);
    });
  };
  using Stats = http::ServerStats;
  return {
      one("weir_connections_open", "Client connections open now.", SampleKind::gauge,
          static_cast<double>(budget.open())),
      one("weir_connections_accepted_total", "Client connections accepted.", SampleKind::counter,
          of(&Stats::accepted)),
      one("weir_connections_rejected_total",
          "Client connections closed at once, above the cap of their address.", SampleKind::counter,
          of(&Stats::rejected)),
      one("weir_connections_shed_total",
          "Idle client connections closed at the connection cap, to make room.", SampleKind::counter,
          of(&Stats::shed)),
      one("weir_accept_pauses_total", "Times accepting paused at the connection cap.", SampleKind::counter,
          of(&Stats::pauses)),
      one("weir_requests_in_flight", "Requests between their head and their last byte.", SampleKind::gauge,
          of(&Stats::in_flight)),
      one("weir_tunnels_open", "Connections that switched protocols (WebSocket), open now.",
          SampleKind::gauge, of(&Stats::open_tunnels)),
  };
}

std::vector<SampleFamily> memory_families(const store::MemoryStore& memory) {
  return {
      one("weir_store_keys", "Counters in the memory store.", SampleKind::gauge,
          static_cast<double>(memory.live_keys())),
      one("weir_store_evictions_total",
          "Counters that left the full memory store; what they owed is remembered.", SampleKind::counter,
          static_cast<double>(memory.evictions())),
      one("weir_store_memory_bytes", "Bytes held by the memory store.", SampleKind::gauge,
          static_cast<double>(memory.memory_bytes())),
  };
}

std::vector<SampleFamily> redis_families(const Workers& workers) {
  if (workers.empty() || workers.front()->stores().redis() == nullptr) return {};
  SampleFamily errors =
      family("weir_store_errors_total", "Requests and notices that the shared store did not answer, by kind.",
             SampleKind::counter);
  for (int kind = 1; kind < redis::kErrorKinds; ++kind) {
    const double count = sum(workers, [&](Worker& worker) {
      return worker.stores().redis()->stats().errors[static_cast<std::size_t>(kind)].load(
          std::memory_order_relaxed);
    });
    add(errors, {{"kind", std::string(redis::name_of(static_cast<redis::ErrorKind>(kind)))}}, count);
  }
  auto worst = store::StoreHealth::healthy;
  for (const auto& worker : workers)
    worst = std::max(worst, worker->stores().ladder()->stats().health.load());
  std::vector<const telemetry::Histogram*> calls;
  std::vector<const telemetry::Histogram*> per_call;
  for (const auto& worker : workers) {
    const store::RedisStoreStats& stats = worker->stores().redis()->stats();
    calls.push_back(&stats.request_us);
    per_call.push_back(&stats.per_call);
  }
  return {
      std::move(errors),
      telemetry::histogram_family("weir_store_call_duration_seconds",
                                  "From a request's question of the shared store to its answer.", calls),
      telemetry::count_histogram_family("weir_store_requests_per_call",
                                        "Requests that one call of the shared store decided.", per_call),
      one("weir_store_script_reloads_total", "Times the shared store did not know the script.",
          SampleKind::counter,
          sum(workers, [](Worker& worker) { return worker.stores().redis()->script_reloads(); })),
      one("weir_store_state",
          "Health of the shared store, the worst of all workers: 0 healthy, 1 brief failure, 2 long.",
          SampleKind::gauge, static_cast<double>(worst)),
      one("weir_store_connected", "Workers whose store connection is up.", SampleKind::gauge,
          sum(workers,
              [](Worker& worker) { return worker.stores().redis()->connection_stats().ready.load(); })),
      one("weir_store_breaker_open", "Workers whose store breaker is open.", SampleKind::gauge,
          sum(workers, [](Worker& worker) { return worker.stores().ladder()->stats().breaker_open.load(); })),
      one("weir_store_spared_calls_total", "Requests decided locally without asking the store that was ill.",
          SampleKind::counter,
          sum(workers, [](Worker& worker) { return worker.stores().ladder()->stats().spared.load(); })),
  };
}

std::vector<SampleFamily> override_families(const limit::LimiterChain& chain, std::int64_t now_ms) {
  auto expired = family("weir_overrides_expired", "Temporary overrides in the quota file that are over.",
                        SampleKind::gauge);
  auto next =
      family("weir_override_next_end_timestamp_seconds",
             "When the next temporary override of a layer ends, seconds since the epoch.", SampleKind::gauge);
  for (const limit::Layer& layer : chain.layers()) {
    const auto& ends = layer.policies.override_ends();
    const Labels labels{{"layer", layer.name}};
    add(expired, labels,
        static_cast<double>(std::ranges::count_if(ends, [now_ms](auto end) { return end <= now_ms; })));
    std::int64_t soonest = INT64_MAX;
    for (const std::int64_t end : ends) {
      if (end > now_ms) soonest = std::min(soonest, end);
    }
    if (soonest != INT64_MAX) add(next, labels, static_cast<double>(soonest) / 1000);
  }
  return {std::move(expired), std::move(next)};
}

}  // namespace weir::app
