// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>

#include "config/lint.hpp"
#include "config/resolve.hpp"

namespace weir::config {

namespace {

// Beyond it, callers that use what they were promised refuse each other at the node.
constexpr double kOverbooked = 3;

double rate_of(const limit::Policy& policy) {
  return static_cast<double>(policy.terms.limit) / static_cast<double>(policy.terms.window_ms);
}

bool counts_a_rate(const limit::Policy& policy) {
  return policy.access == limit::Access::limited &&
         policy.terms.algorithm != limit::AlgorithmKind::concurrency;
}

std::string limit_text(const limit::Policy& policy) {
  return std::to_string(policy.terms.limit) + " in " + std::to_string(policy.terms.window_ms / 1000) + " s";
}

// Resolves without reporting what validation has reported already.
class Quiet {
 public:
  explicit Quiet(const Diagnostics& diagnostics) : unheard_(diagnostics) {}

  std::optional<limit::Policy> of(const LayerSpec& layer, const LimitSpec& spec) {
    const LimitSpec* const inherited = layer.fallback ? &*layer.fallback : nullptr;
    return resolve(layer, spec, &spec == inherited ? nullptr : inherited, unheard_);
  }
  std::optional<limit::Policy> usual(const LayerSpec* layer) {
    if (layer == nullptr || !layer->fallback) return std::nullopt;
    return of(*layer, *layer->fallback);
  }

 private:
  Diagnostics unheard_;
};

// A caller whose own limit is below what one of its users may do.
void check_users_of_callers(const QuotaSpec& quotas, Quiet& quiet, Diagnostics& diagnostics) {
  const LayerSpec* const caller = find_layer(quotas, "caller");
  const auto user = quiet.usual(find_layer(quotas, "user"));
  if (caller == nullptr || !user || !counts_a_rate(*user)) return;
  for (const OverrideSpec& one : caller->overrides) {
    if (!one.has_own_limit || one.user_default) continue;
    const auto own = quiet.of(*caller, one.limit);
    if (!own || !counts_a_rate(*own) || rate_of(*user) <= rate_of(*own) * (1 + 1e-9)) continue;
    diagnostics.note(one.limit.at, one.limit.path,
                     "is less than each of its users may do (limit.user.default: " + limit_text(*user) +
                         "), so one user can use the caller up; give it a `user` section of its own");
  }
}

void check_overbooked(const QuotaSpec& quotas, Quiet& quiet, Diagnostics& diagnostics) {
  const LayerSpec* const caller = find_layer(quotas, "caller");
  const auto node = quiet.usual(find_layer(quotas, "node"));
  if (caller == nullptr || !node || !counts_a_rate(*node)) return;
  double sum = 0;
  for (const OverrideSpec& one : caller->overrides) {
    const auto own = one.has_own_limit ? quiet.of(*caller, one.limit) : std::nullopt;
    if (own && counts_a_rate(*own)) sum += rate_of(*own);
  }
  const double times = sum / rate_of(*node);
  if (times <= kOverbooked) return;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", times);
  diagnostics.warning(caller->at, "limit.caller.overrides",
                      std::string("together promise ") + text.data() + " times what limit.node allows (" +
                          limit_text(*node) + "): at their limits they refuse each other there");
}

void check_limits_somebody(const LayerSpec& layer, Quiet& quiet, Diagnostics& diagnostics) {
  bool limits = false;
  const auto look = [&](const LimitSpec& spec) {
    const auto policy = quiet.of(layer, spec);
    limits = limits || !policy || policy->access != limit::Access::unlimited;
  };
  if (layer.fallback) look(*layer.fallback);
  if (layer.anonymous) look(*layer.anonymous);
  for (const KeyedLimit& one : layer.tiers) look(one.limit);
  for (const OverrideSpec& one : layer.overrides) look(one.limit);
  if (limits || !layer.fallback) return;
  diagnostics.warning(layer.at, layer.path, "limits nobody: every limit in it is unlimited");
}

}  // namespace

void lint_limits(const Document& document, Diagnostics& diagnostics) {
  Quiet quiet(diagnostics);
  check_users_of_callers(document.quotas, quiet, diagnostics);
  check_overbooked(document.quotas, quiet, diagnostics);
  for (const LayerSpec& layer : document.quotas.layers) check_limits_somebody(layer, quiet, diagnostics);
}

}  // namespace weir::config
