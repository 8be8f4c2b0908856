// SPDX-License-Identifier: Apache-2.0
#include "config/compile.hpp"

#include <algorithm>

#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "identity/addresses.hpp"
#include "identity/forwarded_fields.hpp"
#include "pipeline/cors.hpp"
#include "pipeline/rate_limit_fields.hpp"

namespace weir::config {

namespace {

using identity::DimensionOptions;
using identity::Missing;

// Layers may count by dimensions that need no section under `identity`; the extractor has to know of them.
DimensionOptions built_in_options(std::string_view name, identity::Dimension index) {
  DimensionOptions options;
  options.name = std::string(name);
  options.index = index;
  if (name == "region") options.missing = Missing::anonymous;  // an address that no block contains
  return options;
}

std::vector<DimensionOptions> compile_dimensions(const Document& document) {
  std::vector<DimensionOptions> out;
  for (const DimensionSpec& one : document.dimensions) out.push_back(one.options);
  for (const LayerSpec& layer : document.quotas.layers) {
    for (const LocatedText& name : layer.key) {
      auto known = std::find_if(out.begin(), out.end(),
                                [&](const DimensionOptions& one) { return one.name == name.value; });
      if (known == out.end()) {
        out.push_back(built_in_options(name.value, dimension_index(document, name.value)));
        known = out.end() - 1;
      }
      known->used_by_layer = true;
    }
  }
  return out;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

// Headers that only proxies may set: from anyone else they are taken out, so that no upstream believes them.
std::vector<std::string> proxy_headers(const Document& document) {
  std::vector<std::string> trusted;
  std::vector<std::string> open;
  for (const DimensionSpec& one : document.dimensions) {
    for (const identity::Source& source : one.options.from) {
      if (source.kind != identity::SourceKind::header) continue;
      (source.trusted_only ? trusted : open).push_back(lower(source.name));
    }
  }
  if (!document.quotas.cost.request_header.empty()) trusted.push_back(document.quotas.cost.request_header);
  std::erase_if(trusted, [&](const std::string& name) {
    return std::find(open.begin(), open.end(), name) != open.end();
  });
  return trusted;
}

// Only where some route asks for something else are requests looked up by path once more.
identity::AuthOptions compile_auth(const Document& document) {
  identity::AuthOptions options = document.auth;
  const auto& routes = document.routes;
  const bool differs = std::any_of(routes.begin(), routes.end(), [&](const RouteSpec& route) {
    return route.auth.value_or(options.required) != options.required;
  });
  if (!differs) return options;
  for (const RouteSpec& route : routes) {
    options.by_path.push_back({route.pattern, route.auth.value_or(options.required)});
  }
  return options;
}

// Fields that upstreams do not get to see with `auth.forward: false`.
std::vector<std::string> credential_headers(const Document& document) {
  std::vector<std::string> names;
  if (document.forward_credentials) return names;
  if (document.auth.jwt.keys != nullptr) names.push_back(lower(document.auth.jwt.header));
  if (document.auth.api_key_header.empty()) return names;
  names.push_back(lower(document.auth.api_key_header));
  for (const DimensionSpec& one : document.dimensions) {
    for (const identity::Source& source : one.options.from) {
      if (source.kind == identity::SourceKind::api_key) names.push_back(lower(source.name));
    }
  }
  return names;
}

identity::ExtractorOptions compile_identity(const Document& document, const std::vector<QuotaPath>& paths) {
  identity::ExtractorOptions options;
  options.node = document.node.value;
  options.dimensions = compile_dimensions(document);
  for (const auto& block : document.trusted_proxies) options.trusted_proxies.push_back(block.value);
  options.ipv4_prefix = document.ipv4_prefix;
  options.ipv6_prefix = document.ipv6_prefix;
  options.paths = document.paths;
  options.apis = api_templates(paths, document.routes, document.paths);
  for (const ClassSpec& one : document.classes) options.classes.push_back(one.options);
  options.regions = document.regions;
  options.api_keys = document.api_keys;
  options.auth = compile_auth(document);
  options.exempt = document.quotas.exempt;
  return options;
}

// For headers of the PROXY protocol, which stand before anything the extractor sees.
std::function<bool(const boost::asio::ip::address&)> trust_of(const Document& document) {
  std::vector<identity::Cidr> blocks;
  for (const auto& block : document.trusted_proxies) blocks.push_back(block.value);
  return [table = identity::CidrTable(blocks)](const boost::asio::ip::address& peer) {
    return table.contains(identity::plain_address(peer));
  };
}

limit::LimiterChain compile_chain(const Document& document, Diagnostics& diagnostics) {
  limit::LimiterChain::Options options;
  options.node = document.node.value;
  options.accounting = document.quotas.accounting;
  options.caller_dimension = identity::dimension::caller;
  options.tier_dimension = identity::dimension::tier;
  options.api_dimension = identity::dimension::api;
  return limit::LimiterChain(options, compile_layers(document, diagnostics));
}

identity::PathTable compile_route_table(const Document& document) {
  std::vector<identity::PathPattern> patterns;
  for (const RouteSpec& route : document.routes) patterns.push_back(route.pattern);
  return identity::PathTable(patterns, document.paths);
}

void fill_routes(const Document& document, pipeline::Runtime& runtime) {
  runtime.clusters = document.clusters;
  for (upstream::ClusterOptions& cluster : runtime.clusters) {
    cluster.hash.dimension = dimension_index(document, cluster.hash.name);
  }
  for (const RouteSpec& spec : document.routes) {
    pipeline::Route route = spec.route;
    route.pattern = spec.pattern.text;
    const auto cluster = std::find_if(document.clusters.begin(), document.clusters.end(),
                                      [&](const auto& one) { return one.name == route.upstream; });
    route.cluster = static_cast<std::size_t>(cluster - document.clusters.begin());
    runtime.routes.push_back(std::move(route));
  }
}

void fill_removed_fields(const Document& document, pipeline::Runtime& runtime) {
  identity::FieldsToRemove trusted = identity::fields_to_remove({});
  identity::FieldsToRemove others = identity::fields_to_remove(proxy_headers(document));
  for (const std::string& name : credential_headers(document)) {
    trusted.from_trusted.push_back(name);
    others.from_others.push_back(name);
  }
  runtime.removed_from_trusted = http::FieldNames(std::move(trusted.from_trusted));
  runtime.removed_from_others = http::FieldNames(std::move(others.from_others));
  std::vector<std::string> responses;
  if (document.answers.upstream_fields == pipeline::UpstreamFields::strip) {
    responses = pipeline::rate_limit_field_names();
  }
  if (pipeline::cors_on(document.answers.cors)) {
    const std::vector<std::string>& cors = pipeline::cors_field_names();
    responses.insert(responses.end(), cors.begin(), cors.end());
  }
  if (!document.quotas.cost.settle_response_header.empty()) {
    responses.push_back(document.quotas.cost.settle_response_header);
  }
  runtime.removed_from_responses = http::FieldNames(std::move(responses));
}

void fill_named_callers(const Document& document, pipeline::Runtime& runtime) {
  const LayerSpec* const caller = find_layer(document.quotas, "caller");
  if (caller == nullptr) return;
  for (const OverrideSpec& one : caller->overrides) runtime.named_callers.push_back(one.value);
}

void fill_cost(const Document& document, const std::vector<QuotaPath>& paths, pipeline::Runtime& runtime) {
  runtime.cost = document.quotas.cost;
  const LayerSpec* const api = find_layer(document.quotas, "api");
  if (api == nullptr) return;
  for (const auto& cost : api->cost) {
    const auto path = std::find_if(paths.begin(), paths.end(), [&](const QuotaPath& one) {
      return one.written.value == cost.value.first;
    });
    if (path != paths.end()) runtime.cost.by_api[path->pattern.text] = cost.value.second;
  }
}

}  // namespace

identity::Dimension dimension_index(const Document& document, std::string_view name) {
  if (const auto known = built_in_dimension(name)) return *known;
  for (const DimensionSpec& one : document.dimensions) {
    if (one.options.name == name) return one.options.index;
  }
  return 0;
}

std::shared_ptr<pipeline::Runtime> compile(const Document& document, const std::vector<QuotaPath>& paths,
                                           Diagnostics& diagnostics) {
  auto runtime = std::make_shared<pipeline::Runtime>(identity::Extractor(compile_identity(document, paths)),
                                                     compile_chain(document, diagnostics),
                                                     compile_route_table(document));
  runtime->quotas_file = document.quotas_file;
  runtime->quotas = document.quota_origin;
  runtime->node = document.node.value;
  fill_routes(document, *runtime);
  runtime->server = document.server;
  runtime->server.trusts_proxy = trust_of(document);
  runtime->answers = document.answers;
  fill_named_callers(document, *runtime);
  fill_cost(document, paths, *runtime);
  fill_removed_fields(document, *runtime);
  runtime->log = document.log;
  runtime->store = document.store;
  runtime->forward_normal_path = document.paths.forward_normal;
  runtime->drain_ms = document.drain_ms;
  for (const auto& listener : document.listeners) runtime->listeners.push_back(listener.value);
  runtime->admin = document.admin.value;
  runtime->admin_token = document.admin_token;
  runtime->admin_tls = document.admin_tls;
  runtime->workers = document.workers;
  runtime->printable = printable(document, *runtime);
  return runtime;
}

}  // namespace weir::config
