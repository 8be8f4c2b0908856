// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <boost/json.hpp>

#include "config/compile.hpp"
#include "config/printable_tls.hpp"
#include "config/resolve.hpp"
#include "identity/jwt_keys.hpp"
#include "upstream/shared_cluster.hpp"

namespace weir::config {

namespace {

namespace json = boost::json;

constexpr std::string_view kHidden = "***";
constexpr std::size_t kMostOverrides = 1000;  // of one layer; a list of 100,000 is no reading

std::string ms(std::int64_t value) {
  return std::to_string(value) + "ms";
}
std::string ms(std::chrono::milliseconds value) {
  return value.count() == 0 ? "none" : ms(value.count());
}
std::string text_of(const pipeline::Listener& one) {
  return one.host + ":" + std::to_string(one.port);
}

json::value secret(const std::string& value) {
  return value.empty() ? json::value(nullptr) : json::value(json::string(kHidden));
}

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

json::object listener_of(const pipeline::Listener& at, const http::ServerOptions& server) {
  json::object out{{"address", text_of(at)}, {"proxy_protocol", false}, {"tls", nullptr}};
  for (const http::ListenerOptions& one : server.listeners) {
    if (one.host != at.host || one.port != at.port) continue;
    out["proxy_protocol"] = one.preamble == http::ListenerOptions::Preamble::proxy_protocol;
    out["tls"] = tls_of(one.tls.get());
  }
  return out;
}

json::object gateway(const pipeline::Runtime& runtime) {
  json::object out;
  out["node"] = runtime.node;
  out["workers"] = runtime.workers == 0 ? json::value("auto") : json::value(runtime.workers);
  json::array listeners;
  for (const auto& one : runtime.listeners) listeners.push_back(listener_of(one, runtime.server));
  out["listen"] = std::move(listeners);
  out["admin"] = {{"address", text_of(runtime.admin)},
                  {"token", secret(runtime.admin_token)},
                  {"tls", tls_of(runtime.admin_tls.get())}};
  return out;
}

json::object quotas_of(const pipeline::Runtime& runtime) {
  const pipeline::QuotaOrigin& origin = runtime.quotas;
  return {{"from", origin.from_store ? "store" : "file"},
          {"in_force", pipeline::name_of(origin.source)},
          {"version", origin.version},
          {"file", runtime.quotas_file}};
}

json::object store_of(const store::StoreOptions& store) {
  json::object out;
  if (store.kind == store::StoreKind::memory) {
    return {{"kind", "memory"}, {"max_keys", store.max_keys}, {"instances", store.instances}};
  }
  out["kind"] = "redis";
  out["server"] = store.unix_path.empty() ? store.host + ":" + std::to_string(store.port) : store.unix_path;
  json::array nodes;
  for (const auto& one : store.cluster) nodes.emplace_back(one.host + ":" + std::to_string(one.port));
  out["cluster"] = std::move(nodes);
  json::array sentinels;
  for (const auto& one : store.sentinels) sentinels.emplace_back(one.host + ":" + std::to_string(one.port));
  out["sentinel"] = std::move(sentinels);
  out["tls"] = tls_of(store.tls.get());
  out["database"] = store.database;
  out["username"] = store.username;
  out["password"] = secret(store.password);
  out["timeout"] = ms(store.timeout);
  out["instances"] = store.instances;
  if (store.parent != nullptr) out["parent"] = store_of(*store.parent);
  out["long_after"] = std::to_string(store.long_after.count()) + "s";
  return out;
}

json::value endpoint_of(const upstream::EndpointOptions& one) {
  return {{"address", upstream::endpoint_name(one)}, {"weight", one.weight}};
}

json::value balance_of(const upstream::ClusterOptions& cluster) {
  using upstream::Balance;
  using upstream::HashSource;
  if (cluster.balance == Balance::round_robin) return "round_robin";
  if (cluster.balance == Balance::least_request) return "least_request";
  const upstream::HashOptions& hash = cluster.hash;
  json::value key = json::string(hash.name);
  if (hash.source == HashSource::header) key = {{"header", hash.name}};
  if (hash.source == HashSource::cookie) key = {{"cookie", hash.name}};
  return {{"hash", std::move(key)}, {"bound", std::to_string(hash.bound_percent) + "%"}};
}

json::value health_of(const upstream::HealthOptions& health) {
  if (health.path.empty()) return "none";
  return {{"path", health.path},
          {"host", health.host},
          {"interval", ms(health.interval)},
          {"timeout", ms(health.timeout)},
          {"healthy", health.healthy},
          {"unhealthy", health.unhealthy},
          {"status", std::to_string(health.status_from) + "-" + std::to_string(health.status_to)}};
}

json::value ejection_of(const upstream::EjectionOptions& ejection) {
  if (ejection.failures == 0) return "none";
  return {{"failures", ejection.failures},
          {"statuses", json::value_from(ejection.statuses)},
          {"time", ms(ejection.time)},
          {"max_time", ms(ejection.max_time)},
          {"max_share", std::to_string(ejection.max_percent) + "%"}};
}

json::value retries_of(const upstream::RetryOptions& retries) {
  return {{"attempts", retries.attempts},
          {"core_attempts", retries.core_attempts},
          {"budget", std::to_string(retries.budget_percent) + "%"},
          {"on_reset", retries.on_reset},
          {"on_timeout", retries.on_timeout},
          {"on_statuses", json::value_from(retries.on_statuses)}};
}

json::array upstreams(const pipeline::Runtime& runtime) {
  json::array out;
  for (const auto& cluster : runtime.clusters) {
    json::array endpoints;
    for (const auto& one : cluster.endpoints) endpoints.push_back(endpoint_of(one));
    out.push_back({{"name", cluster.name},
                   {"endpoints", std::move(endpoints)},
                   {"balance", balance_of(cluster)},
                   {"timeout",
                    {{"connect", ms(cluster.connect_timeout)},
                     {"response", ms(cluster.response_timeout)},
                     {"idle", ms(cluster.idle_timeout)},
                     {"total", ms(cluster.total_timeout)}}},
                   {"keep_alive", ms(cluster.keep_alive)},
                   {"idle_connections", cluster.idle_connections},
                   {"requests_per_connection", cluster.requests_per_connection},
                   {"drain", ms(cluster.drain)},
                   {"slow_start", ms(cluster.slow_start)},
                   {"health", health_of(cluster.health)},
                   {"ejection", ejection_of(cluster.ejection)},
                   {"retries", retries_of(cluster.retries)},
                   {"max_connections", cluster.cap.max_connections},
                   {"queue", {{"size", cluster.cap.queue_size}, {"wait", ms(cluster.cap.queue_wait)}}},
                   {"tls", tls_of(cluster.tls.get())},
                   {"trailers", json::value_from(cluster.trailers)},
                   {"upgrades", json::value_from(cluster.upgrades)}});
  }
  return out;
}

json::object server_of(const http::ServerOptions& server, std::int64_t drain_ms) {
  return {{"limits",
           {{"header_bytes", server.header_bytes},
            {"header_count", server.header_count},
            {"target_bytes", server.target_bytes},
            {"body_bytes", server.body_bytes},
            {"body_min_rate", server.body_min_rate},
            {"response_min_rate", server.response_min_rate},
            {"connections", server.connections},
            {"connections_per_address", server.connections_per_address}}},
          {"timeouts",
           {{"header", ms(server.header_timeout)},
            {"body_idle", ms(server.body_idle_timeout)},
            {"keep_alive", ms(server.keep_alive_timeout)},
            {"total", ms(server.total_timeout)},
            {"write", ms(server.write_timeout)},
            {"tunnel_idle", ms(server.tunnel_idle_timeout)},
            {"drain", ms(drain_ms)}}}};
}

std::string_view name_of(identity::Credential required) {
  constexpr std::array<std::string_view, 4> names{"none", "api_key", "jwt", "any"};
  return names[static_cast<std::size_t>(required)];
}

// How many keys there are, never what they are.
json::object auth_of(const identity::ExtractorOptions& options) {
  const identity::AuthOptions& auth = options.auth;
  json::object out{{"required", name_of(auth.required)},
                   {"on_invalid", auth.on_invalid == identity::OnInvalid::refuse ? "refuse" : "anonymous"},
                   {"api_keys", options.api_keys.size()}};
  if (auth.jwt.keys == nullptr) return out;
  json::array algorithms;
  for (const identity::JwtAlgorithm one : auth.jwt.algorithms)
    algorithms.emplace_back(identity::name_of(one));
  out["jwt"] = {{"keys", auth.jwt.keys->size()},    {"header", auth.jwt.header},
                {"issuer", auth.jwt.issuer},        {"audience", texts(auth.jwt.audiences)},
                {"leeway", ms(auth.jwt.leeway_ms)}, {"algorithms", std::move(algorithms)}};
  return out;
}

json::value limit_of(const LayerSpec& layer, const LimitSpec& spec, const LimitSpec* inherited) {
  Diagnostics unheard;
  for (std::uint32_t n = 0; n <= spec.at.file; ++n) unheard.add_file("");
  const std::optional<limit::Policy> policy = resolve(layer, spec, inherited, unheard);
  if (!policy) return nullptr;
  if (policy->access == limit::Access::unlimited) return "unlimited";
  if (policy->access == limit::Access::blocked) return "blocked";
  json::object out{{"limit", policy->terms.limit},
                   {"window", policy->calendar == limit::CalendarUnit::day     ? std::string("day")
                              : policy->calendar == limit::CalendarUnit::month ? std::string("month")
                                                                               : ms(policy->terms.window_ms)},
                   {"algorithm", std::string(limit::name_of(policy->terms.algorithm))}};
  if (is_bucket(policy->terms.algorithm)) out["burst"] = policy->terms.burst;
  if (policy->enforcement == limit::Enforcement::shadow) out["mode"] = "shadow";
  return out;
}

json::object layer_of(const LayerSpec& layer) {
  json::array key;
  for (const LocatedText& one : layer.key) key.emplace_back(one.value);
  json::object out{{"name", layer.name}, {"key", std::move(key)}};
  const LimitSpec* const fallback = layer.fallback ? &*layer.fallback : nullptr;
  if (fallback != nullptr) out["default"] = limit_of(layer, *fallback, nullptr);
  if (layer.anonymous) out["anonymous"] = limit_of(layer, *layer.anonymous, fallback);
  json::object tiers;
  for (const KeyedLimit& tier : layer.tiers) tiers[tier.value] = limit_of(layer, tier.limit, fallback);
  if (!tiers.empty()) out["tiers"] = std::move(tiers);
  json::object overrides;
  for (const OverrideSpec& one : layer.overrides) {
    if (overrides.size() == kMostOverrides) break;
    if (one.has_own_limit) overrides[one.value] = limit_of(layer, one.limit, fallback);
  }
  out["override_count"] = layer.overrides.size();
  if (!overrides.empty()) out["overrides"] = std::move(overrides);
  return out;
}

}  // namespace

std::string printable(const Document& document, const pipeline::Runtime& runtime) {
  json::object out = gateway(runtime);
  out["quotas"] = quotas_of(runtime);
  out["store"] = store_of(runtime.store);
  out["auth"] = auth_of(runtime.extractor.options());
  out["upstreams"] = upstreams(runtime);
  json::array routes;
  for (const auto& route : runtime.routes) {
    routes.push_back({{"path", route.pattern}, {"upstream", route.upstream}});
  }
  out["routes"] = std::move(routes);
  for (auto& [key, value] : server_of(runtime.server, runtime.drain_ms)) out[key] = value;
  out["answers"] = {{"ietf", runtime.answers.ietf},
                    {"retry_after", runtime.answers.retry_after},
                    {"status", runtime.answers.status},
                    {"cors_origins", texts(runtime.answers.cors.origins)}};
  out["log"] = {
      {"level", runtime.log.level}, {"access", runtime.log.access}, {"denials", runtime.log.denials}};
  json::array layers;
  for (const limit::Layer& layer : runtime.chain.layers()) {
    const LayerSpec* const spec = find_layer(document.quotas, layer.name);
    if (spec != nullptr) layers.emplace_back(layer_of(*spec));
  }
  out["limit"] = std::move(layers);
  return json::serialize(out);
}

}  // namespace weir::config
