// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>

#include "config/lint.hpp"
#include "config/resolve.hpp"
#include "identity/path_table.hpp"

namespace weir::config {

namespace {

using identity::SourceKind;

bool has_dimension(const LayerSpec& layer, std::string_view name) {
  return std::any_of(layer.key.begin(), layer.key.end(),
                     [&](const LocatedText& one) { return one.value == name; });
}

// Dimensions the gateway computes, of which this configuration leaves one value.
void check_single_valued(const Document& document, const std::vector<QuotaPath>& paths,
                         const LayerSpec& layer, Diagnostics& diagnostics) {
  if (has_dimension(layer, "class") && document.classes.empty()) {
    diagnostics.warning(layer.at, layer.path,
                        "counts by class, but weir.yaml has no `classes`: all requests are of the class "
                        "`other` and share one counter");
  }
  if (has_dimension(layer, "region") && document.regions.empty()) {
    diagnostics.warning(layer.at, layer.path, "counts by region, but weir.yaml has no table `regions`");
  }
  std::set<std::string_view> upstreams;
  for (const RouteSpec& route : document.routes) upstreams.insert(route.route.upstream);
  if (has_dimension(layer, "upstream") && upstreams.size() <= 1) {
    diagnostics.note(layer.at, layer.path, "counts by upstream, and every route leads to the same one");
  }
  const auto templates = api_templates(paths, document.routes, document.paths);
  const bool only_other =
      std::all_of(templates.begin(), templates.end(), [](const auto& one) { return one.path == "/**"; });
  if (has_dimension(layer, "api") && only_other) {
    diagnostics.note(layer.at, layer.path,
                     "counts by api, but neither routes nor quotas name a path: all requests are of the api "
                     "`other` and share one counter");
  }
}

// Routes whose API is blocked for everyone.
void check_blocked_routes(const Document& document, Diagnostics& diagnostics) {
  const LayerSpec* const api = find_layer(document.quotas, "api");
  if (api == nullptr) return;
  for (const OverrideSpec& one : api->overrides) {
    if (one.limit.access != limit::Access::blocked || one.limit.from_ms || one.limit.until_ms) continue;
    std::string why;
    const auto pattern = identity::parse_path_pattern(one.value, why);
    if (!pattern) continue;
    for (const RouteSpec& route : document.routes) {
      const bool same = route.pattern.path == pattern->path &&
                        (pattern->method.empty() || pattern->method == route.pattern.method);
      if (!same) continue;
      diagnostics.note(route.at, route.path,
                       "never passes a request: " + one.limit.path + " blocks its API for everyone");
    }
  }
}

// A path limited for all methods, and one of its methods by itself: two counters that do not add up.
void check_overlaps(const std::vector<QuotaPath>& paths, Diagnostics& diagnostics) {
  for (const QuotaPath& all : paths) {
    if (!all.has_limit || !all.pattern.method.empty()) continue;
    for (const QuotaPath& one : paths) {
      const bool own = one.has_limit && !one.pattern.method.empty() && one.pattern.path == all.pattern.path;
      if (!own) continue;
      diagnostics.note(all.written.at, all.written.path,
                       "does not count " + one.pattern.method + " requests, which have `" + one.pattern.text +
                           "` (" + diagnostics.place(one.written.at) + ") as an API of their own");
    }
  }
}

bool is_credential(const identity::Source& source) {
  constexpr std::array<std::string_view, 6> headers{"authorization", "proxy-authorization", "cookie",
                                                    "x-api-key",     "x-auth-token",        "api-key"};
  constexpr std::array<std::string_view, 5> parameters{"token", "access_token", "api_key", "apikey", "key"};
  const auto same = [&](std::string_view name) {
    return std::equal(name.begin(), name.end(), source.name.begin(), source.name.end(), [](char a, char b) {
      return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
    });
  };
  if (source.kind == SourceKind::header) return std::ranges::any_of(headers, same);
  if (source.kind == SourceKind::query) return std::ranges::any_of(parameters, same);
  return false;
}

// What identifies a request stands in logs, counter keys and rankings: a secret does not belong there.
void check_credentials(const Document& document, Diagnostics& diagnostics) {
  for (const DimensionSpec& one : document.dimensions) {
    for (const identity::Source& source : one.options.from) {
      if (!is_credential(source)) continue;
      diagnostics.warning(one.at, "identity." + one.options.name + ".from",
                          "takes `" + source.name +
                              "`, which is a credential, as a name: it would stand in logs and counter keys; "
                              "use {api_key: " +
                              source.name + "} or {jwt: CLAIM}");
    }
  }
}

}  // namespace

void lint_traffic(const Document& document, const std::vector<QuotaPath>& paths, Diagnostics& diagnostics) {
  for (const LayerSpec& layer : document.quotas.layers) {
    check_single_valued(document, paths, layer, diagnostics);
  }
  check_blocked_routes(document, diagnostics);
  check_overlaps(paths, diagnostics);
  check_credentials(document, diagnostics);
}

void lint(const Document& document, const std::vector<QuotaPath>& paths, std::int64_t now_ms,
          Diagnostics& diagnostics) {
  lint_overrides(document, now_ms, diagnostics);
  lint_limits(document, diagnostics);
  lint_traffic(document, paths, diagnostics);
}

}  // namespace weir::config
