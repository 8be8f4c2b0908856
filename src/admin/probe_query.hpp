// SPDX-License-Identifier: Apache-2.0
// The query of GET /explain as a made-up request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/explain.hpp"

namespace weir::admin {

// "method=GET&path=/x?a=1&header=X-Caller-Id:%20a&from=1.2.3.4", form-encoded; every parameter has a default,
// and header may be repeated. nullopt if it makes no request; `why` then says what is wrong and what is
// allowed.
std::optional<pipeline::ProbeRequest> parse_probe(std::string_view query, std::string& why);

}  // namespace weir::admin
