// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "config/paths.hpp"
#include "config/resolve.hpp"
#include "config/validate.hpp"

namespace weir::config {

namespace {

// What one limit can grant at once.
struct Bound {
  std::int64_t capacity = 0;
  const LimitSpec* spec = nullptr;
  bool of_an_api = false;    // holds for the API its path ends with, alone
  bool of_the_rest = false;  // the api layer's default: holds for APIs without an override
};

std::vector<Bound> bounds_of(const QuotaSpec& quotas, const Diagnostics& diagnostics) {
  std::vector<Bound> bounds;
  Diagnostics unheard = diagnostics;
  visit_limits(quotas, [&](const LayerSpec& layer, const LimitSpec& spec, const LimitSpec* inherited,
                           LimitPlace place) {
    const std::optional<limit::Policy> policy = resolve(layer, spec, inherited, unheard);
    const bool binds = policy && policy->access == limit::Access::limited &&
                       policy->enforcement == limit::Enforcement::enforce &&
                       policy->terms.algorithm != limit::AlgorithmKind::concurrency;
    if (!binds) return;
    const bool by_api = ends_with_dimension(layer, "api");
    const bool single = place == LimitPlace::override_ || place == LimitPlace::nested;
    bounds.push_back({limit::capacity_of(policy->terms), &spec, by_api && single, by_api && !single});
  });
  return bounds;
}

}  // namespace

// A request that costs more than a capacity it has to pass can never pass (spec QM-8).
void validate_costs(const Document& document, Diagnostics& diagnostics) {
  const LayerSpec* const api = find_layer(document.quotas, "api");
  if (api == nullptr || api->cost.empty()) return;
  const std::vector<Bound> bounds = bounds_of(document.quotas, diagnostics);
  for (const auto& cost : api->cost) {
    const auto& [name, permits] = cost.value;
    const bool has_own = std::any_of(api->overrides.begin(), api->overrides.end(),
                                     [&](const OverrideSpec& one) { return one.value == name; });
    const auto too_small = std::find_if(
        bounds.begin(), bounds.end(), [&, &api_name = name, cost_of = permits](const Bound& bound) {
          const bool concerns = (!bound.of_an_api || bound.spec->path.ends_with("." + api_name)) &&
                                (!bound.of_the_rest || !has_own);
          return concerns && bound.capacity < cost_of;
        });
    if (too_small == bounds.end()) continue;
    diagnostics.error(cost.at, cost.path,
                      "costs " + std::to_string(permits) + ", more than " + too_small->spec->path +
                          " can ever grant at once (" + std::to_string(too_small->capacity) + ", " +
                          diagnostics.place(too_small->spec->at) + ")");
  }
}

}  // namespace weir::config
