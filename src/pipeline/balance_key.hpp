// SPDX-License-Identifier: Apache-2.0
// What Balance::hash chooses an endpoint by. Pure.
#pragma once

#include <cstdint>

#include "identity/extractor.hpp"
#include "weir/http/message.hpp"
#include "weir/upstream/options.hpp"

namespace weir::pipeline {

// The same for every instance and after every restart. A request without such a value, or with a
// contradictory one, goes by its client's address.
std::uint64_t balance_key(const upstream::HashOptions& options, const http::RequestHead& head,
                          const identity::Extraction& extraction) noexcept;

}  // namespace weir::pipeline
