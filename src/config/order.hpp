// SPDX-License-Identifier: Apache-2.0
// The order of the chain (spec QM-1): ip, node, caller, user, other layers as written, api; a layer with
// `before` stands right before the one it names.
#pragma once

#include <vector>

#include "config/diagnostics.hpp"
#include "config/document.hpp"

namespace weir::config {

// Indices into quotas.layers, in chain order. Reports a `before` that names no layer or goes in a circle, and
// more layers than a chain can have.
std::vector<std::size_t> layer_order(const QuotaSpec& quotas, Diagnostics& diagnostics);

}  // namespace weir::config
