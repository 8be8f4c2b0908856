// SPDX-License-Identifier: Apache-2.0
// The figures of upstreams: sums over the workers, and what the workers share.
#include <map>

#include "app/gauges.hpp"

namespace weir::app {
namespace {

using telemetry::Labels;
using telemetry::SampleFamily;
using telemetry::SampleKind;

struct Figures {
  double outstanding = 0, connections = 0, idle = 0, connects = 0;
};
using Retries =
    std::array<std::array<double, upstream::kRetryOutcomes.size()>, upstream::kRetryReasons.size()>;

SampleFamily family(std::string name, std::string help, SampleKind kind) {
  return {std::move(name), std::move(help), kind, {}};
}

void add(SampleFamily& to, Labels labels, double value) {
  to.samples.push_back({std::move(labels), value, {}});
}

std::vector<SampleFamily> connection_figures(const Workers& workers) {
  std::map<std::pair<std::string, std::string>, Figures> endpoints;
  for (const auto& worker : workers) {
    worker->forwarders().each_endpoint(
        [&](std::string_view cluster, std::string_view endpoint, const upstream::EndpointStats& stats) {
          Figures& sums = endpoints[{std::string(cluster), std::string(endpoint)}];
          sums.outstanding += static_cast<double>(stats.outstanding.load());
          sums.connections += static_cast<double>(stats.connections.load());
          sums.idle += static_cast<double>(stats.idle_connections.load());
          sums.connects += static_cast<double>(stats.connects.load());
        });
  }
  auto outstanding = family("weir_upstream_outstanding", "Requests being forwarded now.", SampleKind::gauge);
  auto connections = family("weir_upstream_connections", "Open upstream connections.", SampleKind::gauge);
  auto idle =
      family("weir_upstream_idle_connections", "Upstream connections in the pool.", SampleKind::gauge);
  auto connects =
      family("weir_upstream_connects_total", "New upstream connections made.", SampleKind::counter);
  for (const auto& [name, sums] : endpoints) {
    const Labels labels{{"upstream", name.first}, {"endpoint", name.second}};
    add(outstanding, labels, sums.outstanding);
    add(connections, labels, sums.connections);
    add(idle, labels, sums.idle);
    add(connects, labels, sums.connects);
  }
  return {std::move(outstanding), std::move(connections), std::move(idle), std::move(connects)};
}

SampleFamily retry_figures(const Workers& workers) {
  std::map<std::string, Retries> clusters;
  for (const auto& worker : workers) {
    worker->forwarders().each_cluster([&](std::string_view name, const upstream::ClusterStats& stats) {
      Retries& sums = clusters[std::string(name)];
      for (std::size_t reason = 0; reason < sums.size(); ++reason) {
        for (std::size_t outcome = 0; outcome < sums[reason].size(); ++outcome) {
          sums[reason][outcome] += static_cast<double>(stats.retries[reason][outcome].load());
        }
      }
    });
  }
  auto retries = family("weir_upstream_retries_total",
                        "Requests tried again, by why and what became of it (over_budget: not tried).",
                        SampleKind::counter);
  for (const auto& [name, sums] : clusters) {
    for (std::size_t reason = 0; reason < sums.size(); ++reason) {
      for (std::size_t outcome = 0; outcome < sums[reason].size(); ++outcome) {
        add(retries,
            {{"upstream", name},
             {"reason", std::string(upstream::kRetryReasons[reason])},
             {"outcome", std::string(upstream::kRetryOutcomes[outcome])}},
            sums[reason][outcome]);
      }
    }
  }
  return retries;
}

std::vector<SampleFamily> health_figures(const upstream::SharedClusters& clusters) {
  auto healthy =
      family("weir_upstream_healthy",
             "1 while an endpoint is in service, 0 while checks or failures keep it out.", SampleKind::gauge);
  auto ejections = family("weir_upstream_ejections_total",
                          "Times an endpoint was left out because its requests failed.", SampleKind::counter);
  auto checks =
      family("weir_upstream_health_checks_total", "Active health checks by result.", SampleKind::counter);
  auto waiting =
      family("weir_upstream_queue_depth", "Requests that wait for a connection.", SampleKind::gauge);
  auto refused = family("weir_upstream_queue_refused_total",
                        "Requests refused because the queue was full or too slow.", SampleKind::counter);
  const std::int64_t now = clusters.clock().monotonic_ms();
  for (const auto& cluster : clusters.all()) {
    const Labels whole{{"upstream", cluster->name()}};
    add(waiting, whole, static_cast<double>(cluster->waiting()));
    for (const auto& [reason, count] : {std::pair("full", cluster->queue_full.load()),
                                        std::pair("timeout", cluster->queue_timeouts.load())}) {
      add(refused, {{"upstream", cluster->name()}, {"reason", reason}}, static_cast<double>(count));
    }
    for (const auto& endpoint : cluster->endpoints()) {
      const Labels labels{{"upstream", cluster->name()}, {"endpoint", endpoint->name}};
      add(healthy, labels, endpoint->in_service(now) ? 1 : 0);
      add(ejections, labels, static_cast<double>(endpoint->ejections.load()));
      for (const auto& [result, count] : {std::pair("passed", endpoint->checks_passed.load()),
                                          std::pair("failed", endpoint->checks_failed.load())}) {
        Labels with_result = labels;
        with_result.emplace_back("result", result);
        add(checks, std::move(with_result), static_cast<double>(count));
      }
    }
  }
  return {std::move(healthy), std::move(ejections), std::move(checks), std::move(waiting),
          std::move(refused)};
}

}  // namespace

std::vector<SampleFamily> upstream_families(const Workers& workers,
                                            const upstream::SharedClusters& clusters) {
  std::vector<SampleFamily> families = connection_figures(workers);
  families.push_back(retry_figures(workers));
  for (SampleFamily& one : health_figures(clusters)) families.push_back(std::move(one));
  return families;
}

}  // namespace weir::app
