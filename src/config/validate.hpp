// SPDX-License-Identifier: Apache-2.0
// What no single key can know: whether the parts of the configuration fit together. Reports errors (the
// configuration is refused), warnings (probably not meant) and notes; changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "config/document.hpp"
#include "config/paths.hpp"
#include "config/section.hpp"

namespace weir::config {

// `now_ms` is wall time, for overrides that have expired.
void validate(const Document& document, const std::vector<QuotaPath>& paths, std::int64_t now_ms,
              Context& context);

// The parts of it, by file.
void validate_gateway(const Document& document, Diagnostics& diagnostics);
void validate_routes(const Document& document, const std::vector<QuotaPath>& paths, Diagnostics& diagnostics);
void validate_identity(const Document& document, Diagnostics& diagnostics);
void validate_layers(const Document& document, Diagnostics& diagnostics);
void validate_limits(const Document& document, std::int64_t now_ms, Diagnostics& diagnostics);
void validate_costs(const Document& document, Diagnostics& diagnostics);

// Names of all dimensions: the built-in ones and those declared under `identity`.
std::vector<std::string_view> dimension_names(const Document& document);

// `name` is not one of `known`: says so, with the nearest one.
std::string not_one_of(std::string_view what, std::string_view name, std::span<const std::string_view> known);

}  // namespace weir::config
