// SPDX-License-Identifier: Apache-2.0
// Intent: what loads, does what it says, and is still probably not what its author wants. Warnings and notes
// only; whatever is wrong by itself is an error of validate.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "config/diagnostics.hpp"
#include "config/document.hpp"
#include "config/paths.hpp"

namespace weir::config {

// Overrides that end within this time are warned of.
inline constexpr std::int64_t kEndsSoonMs = std::int64_t{7} * 24 * 3600 * 1000;

// All of it. Runs after validation, also where that found errors. `now_ms` is wall time.
void lint(const Document& document, const std::vector<QuotaPath>& paths, std::int64_t now_ms,
          Diagnostics& diagnostics);

// Overrides: shadowed by an earlier one of the same value, about to end, not in force yet.
void lint_overrides(const Document& document, std::int64_t now_ms, Diagnostics& diagnostics);
// Limits against each other: callers that one user can use up, callers that together may do far more than the
// node, layers that limit nobody.
void lint_limits(const Document& document, Diagnostics& diagnostics);
// Layers that see one value or none, routes that never pass, quota paths that share requests, identities that
// are credentials.
void lint_traffic(const Document& document, const std::vector<QuotaPath>& paths, Diagnostics& diagnostics);

}  // namespace weir::config
