// SPDX-License-Identifier: Apache-2.0
// What the status page shows: one document, so that all of it is of one moment.
#include <array>
#include <map>

#include "app/gateway.hpp"
#include "app/json_object.hpp"
#include "upstream/forwarders.hpp"

namespace weir::app {
namespace {

constexpr std::array<std::string_view, 3> kAccess{"limited", "unlimited", "blocked"};
constexpr std::array<std::string_view, 2> kEnforcement{"enforce", "shadow"};
constexpr std::array<std::string_view, 3> kOnExceed{"reject", "queue", "delay"};
constexpr std::array<std::string_view, 3> kFailureModes{"local", "allow", "deny"};
constexpr std::array<std::string_view, 3> kCalendar{"none", "day", "month"};
constexpr std::array<std::string_view, 3> kLoadResults{"applied", "unchanged", "rejected"};

template <std::size_t N, class Enum>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

void append_policy(std::string& out, const limit::Policy& policy) {
  JsonObject object(out);
  object.text("access", name_in(kAccess, policy.access))
      .text("algorithm", limit::name_of(policy.terms.algorithm))
      .number("limit", policy.terms.limit)
      .number("window_ms", policy.terms.window_ms)
      .number("burst", policy.terms.burst)
      .text("calendar", name_in(kCalendar, policy.calendar))
      .text("mode", name_in(kEnforcement, policy.enforcement))
      .number("enforce_percent", policy.enforce_percent)
      .text("on_exceed", name_in(kOnExceed, policy.on_exceed))
      .text("brief", name_in(kFailureModes, policy.on_brief_failure))
      .text("long", name_in(kFailureModes, policy.on_long_failure))
      .text("scope", limit::name_of(policy.scope))
      .text("source", policy.source)
      .end();
}

void append_layer(std::string& out, const limit::Layer& layer, const telemetry::Metrics& metrics,
                  limit::Accounting accounting, const StoresNow& stores) {
  JsonObject object(out);
  object.text("layer", layer.name).texts("key", layer.key_names);
  object.number("priority", static_cast<std::int64_t>(layer.priority_values.size()));
  object.key("default");
  const limit::Policy* const usual = layer.policies.usual();
  if (usual == nullptr) {
    out += "null";
  } else {
    append_policy(out, *usual);
  }
  if (usual != nullptr && usual->access == limit::Access::limited) {
    object.key("promise");
    append_promise(out, *usual, accounting, stores);
  }
  const std::size_t at = metrics.names().layers.find(layer.name);
  std::array<std::uint64_t, telemetry::kLayerOutcomes.size()> sums{};
  std::uint64_t hits = 0;
  for (const telemetry::WorkerCounters* worker : metrics.counters()) {
    const telemetry::LayerCounters& counters = worker->layers[at];
    for (std::size_t n = 0; n < sums.size(); ++n) sums[n] += counters.decisions[n].value();
    hits += counters.final_hits.value();
  }
  for (std::size_t n = 0; n < sums.size(); ++n) {
    object.number(telemetry::kLayerOutcomes[n], static_cast<std::int64_t>(sums[n]));
  }
  object.number("final_hits", static_cast<std::int64_t>(hits)).end();
}

// Which header says what a dimension is, so that the page can ask for a caller by name.
void append_headers(std::string& out, const identity::ExtractorOptions& options) {
  JsonObject object(out);
  for (const identity::DimensionOptions& dimension : options.dimensions) {
    for (const identity::Source& source : dimension.from) {
      if (source.kind != identity::SourceKind::header) continue;
      object.text(dimension.name, source.name);
      break;
    }
  }
  object.end();
}

struct EndpointFigures {
  std::int64_t outstanding = 0, connections = 0, requests = 0, responses = 0, response_us = 0, failed = 0;
};

void append_endpoints(std::string& out, const Workers& workers) {
  std::map<std::pair<std::string, std::string>, EndpointFigures> endpoints;
  const auto sum_up = [&](std::string_view cluster, std::string_view name,
                          const upstream::EndpointStats& stats) {
    EndpointFigures& sums = endpoints[{std::string(cluster), std::string(name)}];
    sums.outstanding += stats.outstanding.load();
    sums.connections += stats.connections.load();
    sums.requests += static_cast<std::int64_t>(stats.requests.load());
    sums.responses += static_cast<std::int64_t>(stats.responses.load());
    sums.response_us += static_cast<std::int64_t>(stats.response_us_sum.load());
  };
  for (const auto& worker : workers) worker->forwarders().each_endpoint(sum_up);
  append_json_array(out, endpoints, [&out](const auto& entry) {
    JsonObject object(out);
    object.text("upstream", entry.first.first)
        .text("endpoint", entry.first.second)
        .number("outstanding", entry.second.outstanding)
        .number("connections", entry.second.connections)
        .number("requests", entry.second.requests)
        .number("responses", entry.second.responses)
        .number("response_us_sum", entry.second.response_us)
        .end();
  });
}

void append_ladder(std::string& out, const Workers& workers, std::int64_t now_ms) {
  std::int64_t open = 0, since_ms = 0;
  std::uint64_t failures = 0, spared = 0, local = 0, failed_open = 0, failed_shut = 0;
  for (const auto& worker : workers) {
    const store::LadderStats& stats = worker->stores().ladder()->stats();
    open += stats.breaker_open.load() ? 1 : 0;
    failures += stats.failures.load();
    spared += stats.spared.load();
    local += stats.local.load();
    failed_open += stats.failed_open.load();
    failed_shut += stats.failed_shut.load();
    const std::int64_t since = stats.failing_since_ms.load();
    if (since != 0 && (since_ms == 0 || since < since_ms)) since_ms = since;
  }
  JsonObject object(out);
  object.number("breakers_open", open)
      .number("failing_ms", since_ms == 0 ? 0 : now_ms - since_ms)
      .number("failed_calls", static_cast<std::int64_t>(failures))
      .number("spared_calls", static_cast<std::int64_t>(spared))
      .number("layers_local", static_cast<std::int64_t>(local))
      .number("layers_allowed", static_cast<std::int64_t>(failed_open))
      .number("layers_denied", static_cast<std::int64_t>(failed_shut))
      .end();
}

void append_loads(std::string& out, const std::vector<ReloadStatus::Load>& loads) {
  append_json_array(out, loads, [&out](const ReloadStatus::Load& load) {
    JsonObject object(out);
    object.number("wall_ms", load.wall_ms)
        .text("result", name_in(kLoadResults, load.result))
        .text("version", load.version)
        .texts("notes", load.notes)
        .end();
  });
}

}  // namespace

std::string Gateway::live_json(std::uint64_t since) const {
  const ReloadStatus::Facts facts = status_.facts();
  std::int64_t in_flight = 0;
  for (const auto& worker : workers_)
    in_flight += static_cast<std::int64_t>(worker->server_stats().in_flight.load());
  std::string out;
  JsonObject object(out);
  object.number("now_ms", system_clock().wall_ms())
      .number("started_ms", started_wall_ms_)
      .number("in_flight", in_flight);
  object.key("status");
  out += status_json();
  object.key("traffic");
  traffic_.append_json(out, since);
  object.key("chain");
  const limit::LimiterChain& chain = facts.runtime->chain;
  append_json_array(out, chain.layers(), [&, stores = stores_now()](const limit::Layer& layer) {
    append_layer(out, layer, metrics_, chain.options().accounting, stores);
  });
  object.key("top");
  out += metrics_.rankings();
  object.key("headers");
  append_headers(out, facts.runtime->extractor.options());
  object.key("endpoints");
  append_endpoints(out, workers_);
  if (!workers_.empty() && workers_.front()->stores().ladder() != nullptr) {
    object.key("ladder");
    append_ladder(out, workers_, system_clock().monotonic_ms());
  }
  object.key("loads");
  append_loads(out, status_.loads());
  object.end();
  out += '\n';
  return out;
}

}  // namespace weir::app
