// SPDX-License-Identifier: Apache-2.0
#include "config/validate.hpp"

#include <algorithm>
#include <set>

#include "config/lint.hpp"
#include "config/parse.hpp"
#include "identity/path_table.hpp"
#include "net/tls_context.hpp"

namespace weir::config {

std::string not_one_of(std::string_view what, std::string_view name,
                       std::span<const std::string_view> known) {
  std::string text = "`" + std::string(name) + "` is no " + std::string(what);
  if (const std::string_view near = nearest(name, known); !near.empty()) {
    return text + "; did you mean `" + std::string(near) + "`?";
  }
  return known.empty() ? text + "; there is none" : text + "; there is " + join_words(known);
}

std::vector<std::string_view> dimension_names(const Document& document) {
  std::vector<std::string_view> names{"node",  "caller",   "user", "api",    "ip",
                                      "class", "upstream", "tier", "region", "role"};
  for (const DimensionSpec& one : document.dimensions) {
    if (!built_in_dimension(one.options.name)) names.push_back(one.options.name);
  }
  return names;
}

// Whoever reaches the address has to prove who they are, and should not have to do it in the clear.
void validate_admin_access(const Document& document, Diagnostics& diagnostics) {
  const net::TlsDemands demands = net::tls_demands(document.admin_tls.get());
  if (demands == net::TlsDemands::certificate) return;
  if (document.admin_token.empty()) {
    diagnostics.error(
        document.admin.at, "admin.address",
        "is beyond loopback and there is neither a token_file nor tls with client_ca; write one, or "
        "use 127.0.0.1");
  } else if (demands == net::TlsDemands::none) {
    diagnostics.note(document.admin.at, "admin.address",
                     "is beyond loopback without tls: whoever can listen in on the network learns the token");
  }
}

void validate_gateway(const Document& document, Diagnostics& diagnostics) {
  if (!is_name(document.node.value)) {
    diagnostics.error(document.node.at, "node",
                      "`" + document.node.value + "` is not a name; use letters, digits, _ and -, up to 64");
  }
  std::set<std::pair<std::string, std::uint16_t>> addresses;
  for (const auto& listener : document.listeners) {
    if (!is_address(listener.value.host)) {
      diagnostics.error(listener.at, listener.path,
                        "is not an IP address; write one such as 0.0.0.0 or [::]");
    }
    if (!addresses.emplace(listener.value.host, listener.value.port).second) {
      diagnostics.error(listener.at, listener.path, "is listened on twice");
    }
  }
  for (const http::ListenerOptions& listener : document.server.listeners) {
    if (listener.preamble == http::ListenerOptions::Preamble::none || !document.trusted_proxies.empty())
      continue;
    diagnostics.error({document.node.at.file, 0, 0}, "listen",
                      "has proxy_protocol, but trusted_proxies is empty: nobody could connect");
  }
  const pipeline::Listener& admin = document.admin.value;
  if (!is_address(admin.host)) {
    diagnostics.error(document.admin.at, "admin.address",
                      "is not an IP address; write one such as 127.0.0.1");
  } else if (!is_loopback(admin.host)) {
    validate_admin_access(document, diagnostics);
  }
  if (addresses.contains({admin.host, admin.port})) {
    diagnostics.error(document.admin.at, "admin.address", "is one of the addresses under listen");
  }
  for (const auto& block : document.trusted_proxies) {
    const bool everyone = block.value.prefix == 0 || block.value.prefix == 96;
    if (everyone) {
      diagnostics.warning(block.at, block.path,
                          "trusts everyone: any client can claim any address and identity");
    }
  }
  if (document.store.kind == store::StoreKind::memory && document.store.instances > 1) {
    diagnostics.warning(
        document.store_at, "store.kind",
        "memory counts in each instance by itself, but store.instances says there are several; "
        "together they let through a multiple of every limit");
  }
  if (document.quota_origin.from_store && document.store.kind != store::StoreKind::redis) {
    diagnostics.error(document.store_at, "quotas.from", "is store, which needs a store of kind: redis");
  }
  if (document.quotas_file.empty()) {
    diagnostics.warning({document.node.at.file, 0, 0}, "quotas", "is missing: nothing is limited");
  }
}

namespace {

void validate_targets(const Document& document, Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  std::set<std::string_view> used;
  for (const auto& cluster : document.clusters) names.push_back(cluster.name);
  for (const RouteSpec& route : document.routes) {
    used.insert(route.route.upstream);
    if (std::find(names.begin(), names.end(), route.route.upstream) != names.end()) continue;
    diagnostics.error(route.upstream_at, route.path + ".upstream",
                      not_one_of("upstream", route.route.upstream, names));
  }
  for (const auto& [name, at] : document.cluster_positions) {
    if (!used.contains(name)) diagnostics.warning(at, "upstreams." + name, "is used by no route");
  }
}

// Balancing by a dimension needs one that every request has: computed, or said under `identity`.
void validate_balance(const Document& document, Diagnostics& diagnostics) {
  std::vector<std::string_view> names{"node", "api", "ip", "class", "upstream"};
  for (const DimensionSpec& one : document.dimensions) names.push_back(one.options.name);
  for (const auto& cluster : document.clusters) {
    const bool by_dimension =
        cluster.balance == upstream::Balance::hash && cluster.hash.source == upstream::HashSource::dimension;
    if (!by_dimension || cluster.hash.name.empty()) continue;
    if (std::find(names.begin(), names.end(), cluster.hash.name) != names.end()) continue;
    diagnostics.error(document.cluster_positions.at(cluster.name),
                      "upstreams." + cluster.name + ".balance.hash",
                      not_one_of("dimension under identity", cluster.hash.name, names));
  }
}

void validate_classes(const Document& document, Diagnostics& diagnostics) {
  std::vector<std::string_view> rest;
  std::vector<std::pair<std::string_view, identity::PathTable>> earlier;
  for (const ClassSpec& one : document.classes) {
    if (one.options.patterns.empty()) rest.push_back(one.options.name);
    if (rest.size() > 1 && one.options.patterns.empty()) {
      diagnostics.error(one.at, "classes." + one.options.name,
                        "takes what no other class has, but `" + std::string(rest[0]) + "` does so already");
    }
    for (std::size_t n = 0; n < one.patterns.size(); ++n) {
      const identity::PathPattern& pattern = one.options.patterns[n];
      for (const auto& [name, table] : earlier) {
        if (!table.find(pattern.method, sample_path(pattern))) continue;
        diagnostics.warning(one.patterns[n].at, one.patterns[n].path,
                            "`" + pattern.text + "` is never reached: the class `" + std::string(name) +
                                "`, which stands earlier, has it");
        break;
      }
    }
    earlier.emplace_back(one.options.name, identity::PathTable(one.options.patterns, document.paths));
  }
}

// Whether some route can match a path that the pattern matches.
bool has_route(const identity::PathPattern& pattern, const std::vector<RouteSpec>& routes,
               const identity::PathTable& table, const identity::PathOptions& options) {
  const std::string sample = sample_path(pattern);
  if (table.find(pattern.method, sample)) return true;
  const identity::PathTable self(std::span(&pattern, 1), options);
  return std::any_of(routes.begin(), routes.end(), [&](const RouteSpec& route) {
    const std::string& method = pattern.method.empty() ? route.pattern.method : pattern.method;
    const bool same_method = route.pattern.method.empty() || route.pattern.method == method;
    return same_method && (table.find(method, sample) || self.find(method, sample_path(route.pattern)));
  });
}

// A route inside a wider quota path is an api of its own, which the quota path's limit does not cover.
void warn_of_routes_inside(const Document& document, const std::vector<QuotaPath>& paths,
                           Diagnostics& diagnostics) {
  std::vector<identity::PathPattern> limited;
  std::vector<const QuotaPath*> origin;
  for (const QuotaPath& one : paths) {
    if (!one.has_limit || one.pattern.path == "/**") continue;
    limited.push_back(one.pattern);
    origin.push_back(&one);
  }
  const identity::PathTable wide(limited, document.paths);
  const std::vector<identity::PathPattern> all = api_templates(paths, document.routes, document.paths);
  const identity::PathTable table(all, document.paths);
  for (const RouteSpec& route : document.routes) {
    const std::string sample = sample_path(route.pattern);
    const auto own = table.find(route.pattern.method, sample);
    const auto outer = wide.find(route.pattern.method, sample);
    if (!own || !outer || all[*own].text != route.pattern.text) continue;
    const QuotaPath& quota = *origin[*outer];
    if (quota.pattern.text == route.pattern.text) continue;
    diagnostics.warning(quota.written.at, quota.written.path,
                        "does not hold for the route `" + route.pattern.text +
                            "`, which is more specific and so an api of its own; give that one a limit too");
  }
}

}  // namespace

void validate_routes(const Document& document, const std::vector<QuotaPath>& paths,
                     Diagnostics& diagnostics) {
  std::vector<identity::PathPattern> patterns;
  for (const RouteSpec& route : document.routes) patterns.push_back(route.pattern);
  const identity::PathTable table(patterns, document.paths);
  for (std::size_t n = 0; n < patterns.size(); ++n) {
    const std::size_t first = table.duplicate_of(patterns[n]).value_or(n);
    if (first >= n) continue;
    diagnostics.error(
        document.routes[n].at, document.routes[n].path + ".path",
        "`" + patterns[n].text + "` is never reached: " + document.routes[first].path + " is the same");
  }
  validate_targets(document, diagnostics);
  validate_balance(document, diagnostics);
  validate_classes(document, diagnostics);
  for (const QuotaPath& one : paths) {
    if (has_route(one.pattern, document.routes, table, document.paths)) continue;
    diagnostics.warning(one.written.at, one.written.path, "no route has this path");
  }
  warn_of_routes_inside(document, paths, diagnostics);
}

void validate(const Document& document, const std::vector<QuotaPath>& paths, std::int64_t now_ms,
              Context& context) {
  validate_gateway(document, context.diagnostics);
  validate_routes(document, paths, context.diagnostics);
  validate_identity(document, context.diagnostics);
  validate_layers(document, context.diagnostics);
  validate_limits(document, now_ms, context.diagnostics);
  validate_costs(document, context.diagnostics);
  lint(document, paths, now_ms, context.diagnostics);
}

}  // namespace weir::config
