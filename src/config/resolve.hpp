// SPDX-License-Identifier: Apache-2.0
// Inheritance (spec QM-4): what one limit means once everything it does not say is filled in from its layer,
// then from the layer's defaults (QM-3). Used by validation and by compilation, so that both see the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.hpp"
#include "config/document.hpp"
#include "weir/limit/policy.hpp"

namespace weir::config {

// The algorithm a layer of that name uses unless told otherwise.
limit::AlgorithmKind default_algorithm(std::string_view layer);

// token_bucket, gcra, leaky_bucket: kinds with a capacity of their own.
bool is_bucket(limit::AlgorithmKind algorithm) noexcept;

// The policy of `spec` in `layer`. `inherited` is where an omitted limit comes from (the layer's default, or
// the default of a caller's own `user` section); it may be null. nullopt after an error.
std::optional<limit::Policy> resolve(const LayerSpec& layer, const LimitSpec& spec,
                                     const LimitSpec* inherited, Diagnostics& diagnostics);

// The layer that the `api` sections of callers' overrides form, as [caller, api] right before the api layer;
// nullopt if no caller has one. It counts as the api layer does.
std::optional<LayerSpec> caller_api_layer(const QuotaSpec& quotas);

const LayerSpec* find_layer(const QuotaSpec& quotas, std::string_view name);

// Calls `visit(layer, spec, inherited, is_override)` for every limit of every layer, nested ones with the
// layer they apply to.
enum class LimitPlace : std::uint8_t { fallback, anonymous, tier, override_, nested };
using LimitVisitor =
    std::function<void(const LayerSpec&, const LimitSpec&, const LimitSpec* inherited, LimitPlace)>;
void visit_limits(const QuotaSpec& quotas, const LimitVisitor& visit);

}  // namespace weir::config
