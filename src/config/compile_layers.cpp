// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "config/compile.hpp"
#include "config/order.hpp"
#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "identity/path_table.hpp"

namespace weir::config {

namespace {

constexpr std::int64_t kMaxLogLimit = 10'000;

// The exempt lane's policy: the same terms, wider by the factor, as far as exact arithmetic goes.
limit::Policy widened(limit::Policy policy, std::int64_t factor) {
  limit::Terms& terms = policy.terms;
  if (policy.access != limit::Access::limited || terms.window_ms == 0) return policy;
  const std::int64_t most = kMaxExact / terms.window_ms;
  terms.limit = std::min(most, terms.limit <= most / factor ? terms.limit * factor : most);
  terms.burst = std::min(most, terms.burst <= most / factor ? terms.burst * factor : most);
  policy.warn_at = policy.warn_at * factor;
  const bool too_long_a_log =
      terms.algorithm == limit::AlgorithmKind::sliding_log && terms.limit > kMaxLogLimit;
  if (too_long_a_log) {
    terms.algorithm = limit::AlgorithmKind::sliding_window;
    terms.cells = 10;
  }
  return policy;
}

// Fills the two tables of one layer: the ordinary one and the exempt lane's.
class Tables {
 public:
  Tables(const LayerSpec& spec, std::int64_t factor, limit::Layer& layer, Diagnostics& diagnostics)
      : spec_(spec), factor_(factor), layer_(layer), diagnostics_(diagnostics) {}

  // What validation let through resolves; a policy that blocks stands in should that ever not be so, since
  // an error must not open anything.
  limit::Policy policy(const LimitSpec& limit, const LimitSpec* inherited) {
    if (auto resolved = resolve(spec_, limit, inherited, diagnostics_)) return *std::move(resolved);
    limit::Policy blocked;
    blocked.layer = spec_.name;
    blocked.access = limit::Access::blocked;
    return blocked;
  }

  // Calls `add(table, owned policy)` for both tables.
  template <class Add>
  void add(const LimitSpec& limit, const LimitSpec* inherited, Add add_to) {
    const limit::Policy resolved = policy(limit, inherited);
    add_to(layer_.policies, layer_.policies.own(resolved));
    add_to(layer_.exempt, layer_.exempt.own(widened(resolved, factor_)));
  }

 private:
  const LayerSpec& spec_;
  std::int64_t factor_;
  limit::Layer& layer_;
  Diagnostics& diagnostics_;
};

// The valid time of `limit`, inside that of the override around it.
limit::Override timed(const limit::Policy* policy, const LimitSpec& limit, const LimitSpec* around) {
  limit::Override out{policy};
  if (limit.from_ms) out.from_ms = *limit.from_ms;
  if (limit.until_ms) out.until_ms = *limit.until_ms;
  if (around != nullptr && around->from_ms) out.from_ms = std::max(out.from_ms, *around->from_ms);
  if (around != nullptr && around->until_ms) out.until_ms = std::min(out.until_ms, *around->until_ms);
  return out;
}

// An api value is the normal text of its pattern ("POST /x", however many blanks were written).
std::string own_value(const LayerSpec& spec, const std::string& written) {
  if (!ends_with_dimension(spec, "api")) return written;
  std::string why;
  const auto pattern = identity::parse_path_pattern(written, why);
  return pattern ? pattern->text : written;
}

void add_nested_users(const OverrideSpec& one, const LayerSpec& user, Tables& tables) {
  const LimitSpec* const fallback = user.fallback ? &*user.fallback : nullptr;
  if (one.user_default) {
    tables.add(*one.user_default, fallback, [&](limit::PolicyTable& table, const limit::Policy* policy) {
      table.set_nested_default(one.value, timed(policy, *one.user_default, &one.limit));
    });
  }
  const LimitSpec* const inherited = one.user_default ? &*one.user_default : fallback;
  for (const KeyedLimit& limit : one.user_overrides) {
    tables.add(limit.limit, inherited, [&](limit::PolicyTable& table, const limit::Policy* policy) {
      table.add_nested(one.value, limit.value, timed(policy, limit.limit, &one.limit));
    });
  }
}

limit::Layer shell(const Document& document, const LayerSpec& spec) {
  limit::Layer layer;
  layer.name = spec.name;
  for (const LocatedText& name : spec.key) {
    layer.key.push_back(dimension_index(document, name.value));
    layer.key_names.push_back(name.value);
  }
  return layer;
}

limit::Layer compile_layer(const Document& document, const LayerSpec& spec, Diagnostics& diagnostics) {
  limit::Layer layer = shell(document, spec);
  Tables tables(spec, document.quotas.exempt_factor, layer, diagnostics);
  const LimitSpec* const fallback = spec.fallback ? &*spec.fallback : nullptr;
  using limit::Policy;
  using limit::PolicyTable;
  if (fallback != nullptr) {
    tables.add(*fallback, nullptr,
               [](PolicyTable& table, const Policy* policy) { table.set_default(policy); });
  }
  if (spec.anonymous) {
    tables.add(*spec.anonymous, fallback,
               [](PolicyTable& table, const Policy* policy) { table.set_anonymous(policy); });
  }
  for (const KeyedLimit& tier : spec.tiers) {
    tables.add(tier.limit, fallback,
               [&](PolicyTable& table, const Policy* policy) { table.add_tier(tier.value, policy); });
  }
  for (const OverrideSpec& one : spec.overrides) {
    if (!one.has_own_limit) continue;
    const std::string value = own_value(spec, one.value);
    tables.add(one.limit, fallback, [&](PolicyTable& table, const Policy* policy) {
      table.add_override(value, timed(policy, one.limit, nullptr));
    });
  }
  if (spec.name == "user") {
    const LayerSpec* const caller = find_layer(document.quotas, "caller");
    if (caller != nullptr) {
      for (const OverrideSpec& one : caller->overrides) add_nested_users(one, spec, tables);
    }
  }
  const bool moves = find_layer(document.quotas, "user") != nullptr;
  for (const LocatedText& one : spec.priority) {
    if (moves) layer.priority_values.push_back(own_value(spec, one.value));
  }
  return layer;
}

limit::Layer compile_caller_api(const Document& document, const LayerSpec& spec, Diagnostics& diagnostics) {
  limit::Layer layer = shell(document, spec);
  Tables tables(spec, document.quotas.exempt_factor, layer, diagnostics);
  const LayerSpec* const caller = find_layer(document.quotas, "caller");
  for (const OverrideSpec& one : caller->overrides) {
    for (const KeyedLimit& limit : one.api_limits) {
      const std::string value = own_value(spec, limit.value);
      tables.add(limit.limit, nullptr, [&](limit::PolicyTable& table, const limit::Policy* policy) {
        table.add_nested(one.value, value, timed(policy, limit.limit, &one.limit));
      });
    }
  }
  return layer;
}

}  // namespace

std::vector<limit::Layer> compile_layers(const Document& document, Diagnostics& diagnostics) {
  std::vector<limit::Layer> layers;
  // Placed before `api`, or last; empty once it is.
  std::optional<LayerSpec> caller_api = caller_api_layer(document.quotas);
  const auto place_caller_api = [&] {
    if (!caller_api) return;
    layers.push_back(compile_caller_api(document, *caller_api, diagnostics));
    caller_api.reset();
  };
  for (const std::size_t n : layer_order(document.quotas, diagnostics)) {
    const LayerSpec& spec = document.quotas.layers[n];
    if (spec.name == "api") place_caller_api();
    layers.push_back(compile_layer(document, spec, diagnostics));
  }
  place_caller_api();
  return layers;
}

}  // namespace weir::config
