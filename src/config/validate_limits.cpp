// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "config/paths.hpp"
#include "config/resolve.hpp"
#include "config/validate.hpp"
#include "identity/path_table.hpp"

namespace weir::config {

namespace {

void check_times(const LimitSpec& spec, LimitPlace place, std::int64_t now_ms, Diagnostics& diagnostics) {
  if (!spec.from_ms && !spec.until_ms) return;
  const bool may = place == LimitPlace::override_ || place == LimitPlace::nested;
  if (!may) {
    diagnostics.error(spec.at, spec.path, "has from or until; only overrides come and go");
    return;
  }
  if (spec.from_ms && spec.until_ms && *spec.from_ms >= *spec.until_ms) {
    diagnostics.error(spec.at, spec.path, "is never valid: from is not before until");
  } else if (spec.until_ms && *spec.until_ms <= now_ms) {
    diagnostics.warning(spec.at, spec.path, "has expired; it has no effect any more");
  }
}

void check_behaviour(const LimitSpec& spec, const limit::Policy& policy, Diagnostics& diagnostics) {
  if (policy.on_exceed == limit::OnExceed::queue) {
    diagnostics.warning(
        spec.at, spec.path,
        "on_exceed: queue answers 429 in this version; the overflow queue does not exist yet");
  }
  using limit::AlgorithmKind;
  const AlgorithmKind algorithm = policy.terms.algorithm;
  const bool one_by_one = algorithm == AlgorithmKind::sliding_log ||
                          algorithm == AlgorithmKind::leaky_bucket || algorithm == AlgorithmKind::concurrency;
  if (policy.scope == limit::Scope::global && one_by_one && policy.access == limit::Access::limited) {
    diagnostics.error(spec.at, spec.path,
                      "is counted permit by permit (" + std::string(limit::name_of(algorithm)) +
                          "), which a layer of scope: global cannot: its permits are taken beforehand");
  }
}

void check_capacity(const LayerSpec& layer, const LimitSpec& spec, const limit::Policy& policy,
                    Diagnostics& diagnostics) {
  if (!layer.capacity || policy.access != limit::Access::limited) return;
  if (policy.terms.limit * 10 <= layer.capacity->value * 6) return;
  diagnostics.warning(spec.at, spec.path,
                      "is above 60% of the capacity " + std::to_string(layer.capacity->value) +
                          "; little is left for bursts and failures");
}

// A limit above its parent's can never be reached. Compared as rates, since windows may differ.
void check_against_parent(const LimitSpec& spec, const limit::Policy& child, const std::string& parent_name,
                          const limit::Policy& parent, Diagnostics& diagnostics) {
  const bool comparable = child.access == limit::Access::limited && parent.access == limit::Access::limited &&
                          child.terms.algorithm != limit::AlgorithmKind::concurrency &&
                          parent.terms.algorithm != limit::AlgorithmKind::concurrency;
  if (!comparable) return;
  const auto rate = [](const limit::Terms& terms) {
    return static_cast<double>(terms.limit) / static_cast<double>(terms.window_ms);
  };
  if (rate(child.terms) <= rate(parent.terms) * (1 + 1e-9)) return;
  diagnostics.warning(spec.at, spec.path,
                      "is more than " + parent_name + " allows (" + std::to_string(parent.terms.limit) +
                          " in " + std::to_string(parent.terms.window_ms / 1000) +
                          " s), so it is never reached there");
}

// The layers whose limits bound this one's from above: a user cannot do more than its caller may.
std::vector<std::string_view> parents_of(std::string_view layer) {
  if (layer == "caller") return {"node"};
  if (layer == "user" || layer == "role" || layer == "class") return {"caller", "node"};
  if (layer == "api" || layer == "caller_api") return {"node"};
  return {};
}

class LimitCheck {
 public:
  LimitCheck(const Document& document, std::int64_t now_ms, Diagnostics& diagnostics)
      : quotas_(document.quotas), now_ms_(now_ms), diagnostics_(diagnostics) {}

  void run() {
    visit_limits(quotas_, [this](const LayerSpec& layer, const LimitSpec& spec, const LimitSpec* inherited,
                                 LimitPlace place) { check(layer, spec, inherited, place); });
    check_nested();
    for (const auto& [layer, count] : bursty_) {
      diagnostics_.note(
          layer->at, layer->path,
          "one window may see nearly twice the limit: burst equals the limit by default; write a "
          "smaller burst to lower that");
    }
    for (const auto& [layer, used] : calendar_) {
      if (layer->time_zone && !used) {
        diagnostics_.warning(layer->time_zone->at, layer->time_zone->path,
                             "has no effect: no limit of this layer counts by day or month");
      }
    }
  }

 private:
  void check(const LayerSpec& layer, const LimitSpec& spec, const LimitSpec* inherited, LimitPlace place) {
    check_times(spec, place, now_ms_, diagnostics_);
    const std::optional<limit::Policy> policy = resolve(layer, spec, inherited, diagnostics_);
    if (!policy) return;
    if (policy->access == limit::Access::limited) check_behaviour(spec, *policy, diagnostics_);
    const LayerSpec* const declared = find_layer(quotas_, layer.name);
    if (declared == nullptr) return;  // caller_api: only limits of single APIs
    calendar_[declared] |= policy->terms.calendar;
    if (policy->access != limit::Access::limited) return;
    check_capacity(layer, spec, *policy, diagnostics_);
    const bool usual_burst = !spec.settings.burst && !layer.settings.burst &&
                             is_bucket(policy->terms.algorithm) &&
                             policy->terms.algorithm != limit::AlgorithmKind::leaky_bucket;
    if (usual_burst) ++bursty_[declared];
    if (place != LimitPlace::nested) check_parent(layer, spec, *policy);
  }

  void check_parent(const LayerSpec& layer, const LimitSpec& spec, const limit::Policy& policy) {
    for (const std::string_view name : parents_of(layer.name)) {
      const limit::Policy* const parent = fallback_of(name);
      if (parent == nullptr) continue;
      check_against_parent(spec, policy, "limit." + std::string(name), *parent, diagnostics_);
      return;
    }
  }

  // A caller's own user and api limits against what that caller may do.
  void check_nested() {
    const LayerSpec* const caller = find_layer(quotas_, "caller");
    const LayerSpec* const user = find_layer(quotas_, "user");
    if (caller == nullptr || !caller->fallback) return;
    const std::optional<LayerSpec> apis = caller_api_layer(quotas_);
    Diagnostics unheard = diagnostics_;
    for (const OverrideSpec& one : caller->overrides) {
      const LimitSpec& own = one.has_own_limit ? one.limit : *caller->fallback;
      const std::optional<limit::Policy> parent = resolve(*caller, own, &*caller->fallback, unheard);
      if (!parent) continue;
      const auto compare = [&](const LayerSpec& layer, const LimitSpec& spec) {
        const std::optional<limit::Policy> child = resolve(layer, spec, nullptr, unheard);
        if (child) check_against_parent(spec, *child, one.limit.path, *parent, diagnostics_);
      };
      if (user != nullptr && one.user_default) compare(*user, *one.user_default);
      if (user != nullptr) {
        for (const KeyedLimit& limit : one.user_overrides) compare(*user, limit.limit);
      }
      for (const KeyedLimit& limit : one.api_limits) compare(*apis, limit.limit);
    }
  }

  // The policy of a layer's default, without reporting its faults a second time.
  const limit::Policy* fallback_of(std::string_view name) {
    const LayerSpec* const layer = find_layer(quotas_, name);
    if (layer == nullptr || !layer->fallback) return nullptr;
    auto known = fallbacks_.find(layer);
    if (known == fallbacks_.end()) {
      Diagnostics unheard = diagnostics_;
      known = fallbacks_.emplace(layer, resolve(*layer, *layer->fallback, nullptr, unheard)).first;
    }
    const std::optional<limit::Policy>& policy = known->second;
    return policy ? &*policy : nullptr;
  }

  const QuotaSpec& quotas_;
  std::int64_t now_ms_;
  Diagnostics& diagnostics_;
  std::map<const LayerSpec*, std::size_t> bursty_;
  std::map<const LayerSpec*, bool> calendar_;
  std::map<const LayerSpec*, std::optional<limit::Policy>> fallbacks_;
};

}  // namespace

void validate_limits(const Document& document, std::int64_t now_ms, Diagnostics& diagnostics) {
  LimitCheck(document, now_ms, diagnostics).run();
}

}  // namespace weir::config
