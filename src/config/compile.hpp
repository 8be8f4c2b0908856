// SPDX-License-Identifier: Apache-2.0
// Document -> Runtime. Runs only on a document that validation passed, so nothing here can fail.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/diagnostics.hpp"
#include "config/document.hpp"
#include "config/paths.hpp"
#include "pipeline/runtime.hpp"
#include "weir/limit/limiter_chain.hpp"

namespace weir::config {

std::shared_ptr<pipeline::Runtime> compile(const Document& document, const std::vector<QuotaPath>& paths,
                                           Diagnostics& diagnostics);

// The layers in chain order with their policy tables, ordinary and exempt.
std::vector<limit::Layer> compile_layers(const Document& document, Diagnostics& diagnostics);

// The effective configuration as JSON: every option with its value, every layer with its limits and where
// they were written. Secrets are replaced.
std::string printable(const Document& document, const pipeline::Runtime& runtime);

// The index of a dimension name: built in or declared. 0 for an unknown one.
identity::Dimension dimension_index(const Document& document, std::string_view name);

}  // namespace weir::config
