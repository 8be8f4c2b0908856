// SPDX-License-Identifier: Apache-2.0
// How many permits a request takes (spec QM-8): by API, or as a trusted proxy says; and what the response
// showed it really cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pipeline/runtime.hpp"
#include "weir/http/message.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::pipeline {

// At least 1. The header counts only from a trusted peer, and only as a plain positive number.
std::int64_t request_cost(const http::RequestHead& head, std::string_view api, bool peer_trusted,
                          const CostOptions& options) noexcept;

// The true cost after the response; nullopt where nothing is to be settled.
std::optional<std::int64_t> true_cost(const upstream::ForwardResult& result, std::uint64_t body_bytes_sent,
                                      const CostOptions& options) noexcept;

}  // namespace weir::pipeline
