// SPDX-License-Identifier: Apache-2.0
#include "app/promises.hpp"

#include "app/json_object.hpp"

namespace weir::app {
namespace {

using store::Circumstances;
using store::StoreHealth;
using store::StoreMemory;

void append_permits(JsonObject& object, std::string_view name, const std::optional<std::int64_t>& permits) {
  if (permits) {
    object.number(name, *permits);
  } else {
    object.null(name);
  }
}

void append_worst(JsonObject& object, std::string_view name, const limit::Policy& policy,
                  const Circumstances& at) {
  const store::Overshoot worst = worst_overshoot(policy, at);
  object.key(name);
  object.inside([&worst](JsonObject& one) {
    one.text("counted", name_of(worst.counted));
    append_permits(one, "permits", worst.permits);
    append_permits(one, "lasting", worst.lasting);
    one.text("why", worst.why);
  });
}

void append_overshoot(JsonObject& object, const limit::Policy& policy, const Circumstances& now) {
  append_worst(object, "now", policy, now);
  if (counted_now(policy, now) == store::Counted::in_process) return;
  Circumstances other = now;
  other.health = StoreHealth::brief;
  append_worst(object, "brief", policy, other);
  other.health = StoreHealth::long_failure;
  append_worst(object, "long", policy, other);
  other.health = StoreHealth::healthy;
  other.memory = StoreMemory::lost;
  append_worst(object, "forgotten", policy, other);
}

void append_layer(std::string& out, const limit::Layer& layer, limit::Accounting accounting,
                  const StoresNow& stores) {
  JsonObject object(out);
  object.text("layer", layer.name).texts("key", layer.key_names);
  const limit::Policy* const usual = layer.policies.usual();
  if (usual == nullptr || usual->access != limit::Access::limited) {
    object.null("default").end();
    return;
  }
  object.key("default");
  object.inside([usual](JsonObject& policy) {
    policy.text("algorithm", limit::name_of(usual->terms.algorithm))
        .number("limit", usual->terms.limit)
        .number("window_ms", usual->terms.window_ms)
        .number("burst", usual->terms.burst);
  });
  object.key("promise");
  append_promise(out, *usual, accounting, stores);
  object.end();
}

}  // namespace

void append_promise(std::string& out, const limit::Policy& policy, limit::Accounting accounting,
                    const StoresNow& stores) {
  const bool global = policy.scope == limit::Scope::global && stores.parent;
  const StoreNow& store = global ? *stores.parent : stores.own;
  const Circumstances now{store.options, accounting, store.instances, store.health, StoreMemory::kept};
  const store::Counted counted = counted_now(policy, now);
  JsonObject object(out);
  object.text("scope", limit::name_of(policy.scope))
      .number("instances", static_cast<std::int64_t>(store.instances))
      .text("counted", name_of(counted));
  if (counted != store::Counted::in_process) object.text("ladder", name_of(store.health));
  object.key("overshoot");
  object.inside([&](JsonObject& overshoot) { append_overshoot(overshoot, policy, now); });
  object.end();
}

std::string promises_json(const limit::LimiterChain& chain, const StoresNow& stores) {
  std::string out;
  JsonObject object(out);
  object.key("layers");
  append_json_array(out, chain.layers(), [&](const limit::Layer& layer) {
    append_layer(out, layer, chain.options().accounting, stores);
  });
  object.end();
  out += '\n';
  return out;
}

}  // namespace weir::app
