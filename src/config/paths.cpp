// SPDX-License-Identifier: Apache-2.0
#include "config/paths.hpp"

#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "identity/path_table.hpp"

namespace weir::config {

namespace {

void add(std::vector<QuotaPath>& out, const std::string& text, Position at, const std::string& path,
         bool has_limit, Context& context) {
  const auto pattern = parse_pattern(text, at, path, context);
  if (pattern) out.push_back({*pattern, {text, at, path}, has_limit});
}

std::vector<identity::PathPattern> patterns_of(const std::vector<QuotaPath>& paths) {
  std::vector<identity::PathPattern> out;
  for (const QuotaPath& one : paths) out.push_back(one.pattern);
  return out;
}

}  // namespace

bool ends_with_dimension(const LayerSpec& layer, std::string_view dimension) {
  return !layer.key.empty() && layer.key.back().value == dimension;
}

std::vector<QuotaPath> quota_paths(const QuotaSpec& quotas, Context& context) {
  std::vector<QuotaPath> out;
  for (const LayerSpec& layer : quotas.layers) {
    if (ends_with_dimension(layer, "api")) {
      for (const OverrideSpec& one : layer.overrides) {
        add(out, one.value, one.limit.at, one.limit.path, true, context);
      }
    }
    for (const LocatedText& one : layer.priority) add(out, one.value, one.at, one.path, false, context);
    for (const auto& one : layer.cost) add(out, one.value.first, one.at, one.path, false, context);
    for (const OverrideSpec& one : layer.overrides) {
      for (const KeyedLimit& limit : one.api_limits) {
        add(out, limit.value, limit.limit.at, limit.limit.path, true, context);
      }
    }
  }
  return out;
}

std::vector<identity::PathPattern> api_templates(const std::vector<QuotaPath>& quotas,
                                                 const std::vector<RouteSpec>& routes,
                                                 const identity::PathOptions& options) {
  std::vector<identity::PathPattern> out;
  const std::vector<identity::PathPattern> named = patterns_of(quotas);
  const identity::PathTable table(named, options);
  for (std::size_t n = 0; n < named.size(); ++n) {
    if (table.duplicate_of(named[n]).value_or(n) == n) out.push_back(named[n]);
  }
  for (const RouteSpec& route : routes) {
    identity::PathPattern any_method = route.pattern;
    any_method.method.clear();
    const bool stands = table.duplicate_of(route.pattern) || table.duplicate_of(any_method);
    if (!stands) out.push_back(route.pattern);
  }
  return out;
}

std::string sample_path(const identity::PathPattern& pattern) {
  std::string out;
  std::string_view rest = pattern.path;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    out += '/';
    if (segment == "**") {
      out += "weir-sample/weir-sample";
    } else if (segment.starts_with('{')) {
      out += "weir-sample";
    } else {
      out += segment;
    }
  }
  return out;
}

}  // namespace weir::config
