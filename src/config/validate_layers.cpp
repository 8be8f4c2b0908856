// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "config/order.hpp"
#include "config/resolve.hpp"
#include "config/validate.hpp"
#include "weir/limit/calendar.hpp"

namespace weir::config {

namespace {

void validate_key(const LayerSpec& layer, Diagnostics& diagnostics) {
  std::set<std::string_view> seen;
  for (const LocatedText& name : layer.key) {
    if (!seen.insert(name.value).second) {
      diagnostics.error(name.at, name.path, "`" + name.value + "` stands in it twice");
    }
  }
}

void validate_default(const LayerSpec& layer, Diagnostics& diagnostics) {
  if (layer.fallback) return;
  const std::string word = layer.name == "node" ? "total" : "default";
  diagnostics.error(layer.at, layer.path,
                    "has no " + word + "; every key needs a limit, write a number, unlimited or blocked");
}

// Settings of the layer itself that none of its limits has a use for.
void validate_stray_settings(const LayerSpec& layer, Diagnostics& diagnostics) {
  const Settings& shared = layer.settings;
  const auto used = [&](auto matches) {
    const auto algorithm_of = [&](const Settings& own) {
      return own.algorithm.value_or(shared.algorithm.value_or(default_algorithm(layer.name)));
    };
    if (!layer.fallback || matches(algorithm_of(layer.fallback->settings))) return true;
    const bool in_tier = std::any_of(layer.tiers.begin(), layer.tiers.end(), [&](const KeyedLimit& one) {
      return matches(algorithm_of(one.limit.settings));
    });
    return in_tier ||
           std::any_of(layer.overrides.begin(), layer.overrides.end(),
                       [&](const OverrideSpec& one) { return matches(algorithm_of(one.limit.settings)); });
  };
  using limit::AlgorithmKind;
  const auto complain = [&](const char* key, const char* who) {
    diagnostics.error(layer.at, layer.path + "." + key, std::string("has no effect here; it is for ") + who);
  };
  if (shared.burst && !used(is_bucket)) complain("burst", "token_bucket, gcra and leaky_bucket");
  if (shared.cells && !used([](AlgorithmKind kind) { return kind == AlgorithmKind::sliding_window; })) {
    complain("cells", "sliding_window");
  }
  if (shared.max_wait_ms && !used([](AlgorithmKind kind) { return kind == AlgorithmKind::leaky_bucket; })) {
    complain("max_wait", "leaky_bucket");
  }
}

void validate_time_zone(const LayerSpec& layer, Diagnostics& diagnostics) {
  if (!layer.time_zone || limit::known_time_zone(layer.time_zone->value)) return;
  diagnostics.error(
      layer.time_zone->at, layer.time_zone->path,
      "`" + layer.time_zone->value + "` is no time zone; write a name such as UTC or Europe/Berlin");
}

void validate_class_names(const Document& document, const LayerSpec& layer, Diagnostics& diagnostics) {
  const bool by_class = !layer.key.empty() && layer.key.back().value == "class";
  if (!by_class) return;
  std::vector<std::string_view> names;
  for (const ClassSpec& one : document.classes) names.push_back(one.options.name);
  names.push_back("other");
  for (const OverrideSpec& one : layer.overrides) {
    if (std::find(names.begin(), names.end(), one.value) != names.end()) continue;
    diagnostics.warning(one.limit.at, one.limit.path, not_one_of("class", one.value, names));
  }
}

void validate_nested(const QuotaSpec& quotas, const LayerSpec& layer, Diagnostics& diagnostics) {
  for (const OverrideSpec& one : layer.overrides) {
    const bool has_user = one.user_default || !one.user_overrides.empty();
    if (has_user && find_layer(quotas, "user") == nullptr) {
      diagnostics.error(one.limit.at, one.limit.path + ".user",
                        "needs a layer `user` to refine; write limit.user with a default");
    }
  }
}

void validate_scope(const Document& document, const LayerSpec& layer, Diagnostics& diagnostics) {
  if (layer.scope.value != limit::Scope::global || document.store.parent != nullptr) return;
  diagnostics.error(layer.scope.at, layer.scope.path, "global needs the store of all regions: store.parent");
}

void validate_priority(const QuotaSpec& quotas, const LayerSpec& layer, Diagnostics& diagnostics) {
  if (layer.priority.empty() || find_layer(quotas, "user") != nullptr) return;
  diagnostics.warning(layer.priority[0].at, layer.path + ".priority",
                      "has no effect: there is no user layer to go before");
}

}  // namespace

void validate_layers(const Document& document, Diagnostics& diagnostics) {
  const QuotaSpec& quotas = document.quotas;
  std::vector<std::string> missing;
  for (const std::string_view name : {"node", "caller", "user", "api"}) {
    if (find_layer(quotas, name) == nullptr) missing.emplace_back(name);
  }
  if (!missing.empty() && !document.quotas_file.empty()) {
    std::string text = "has no layer ";
    for (std::size_t n = 0; n < missing.size(); ++n) text += (n > 0 ? ", " : "") + missing[n];
    text += "; what is not declared does not exist";
    diagnostics.note(quotas.at, "limit", text);
  }
  for (const LayerSpec& layer : quotas.layers) {
    validate_key(layer, diagnostics);
    validate_default(layer, diagnostics);
    validate_stray_settings(layer, diagnostics);
    validate_time_zone(layer, diagnostics);
    validate_class_names(document, layer, diagnostics);
    validate_nested(quotas, layer, diagnostics);
    validate_scope(document, layer, diagnostics);
    validate_priority(quotas, layer, diagnostics);
  }
  layer_order(quotas, diagnostics);
}

}  // namespace weir::config
