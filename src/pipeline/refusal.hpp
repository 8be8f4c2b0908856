// SPDX-License-Identifier: Apache-2.0
// Bodies and statuses of the answers that the pipeline makes itself: RFC 9457 problem+json, or the
// configured template for quota refusals. Names the refusing layers, never another tenant's data.
#pragma once

#include <string>
#include <string_view>

#include "pipeline/runtime.hpp"
#include "weir/limit/decision.hpp"

namespace weir::pipeline {

// 429 (or the configured code), 403 blocked, 413 cost above a capacity, 503 the store is down and a layer
// says deny.
int refusal_status(const limit::Decision& decision, const AnswerOptions& options) noexcept;

// Appends the body for a refused decision; returns its media type.
std::string_view append_refusal_body(std::string& out, const limit::ChargeSet& set,
                                     const limit::Decision& decision, const AnswerOptions& options,
                                     std::string_view request_id);

// Appends a problem+json body without limiter fields (400, 401, 404 ...).
void append_problem(std::string& out, int status, std::string_view title, std::string_view detail,
                    std::string_view request_id);

inline constexpr std::string_view kProblemJson = "application/problem+json";

}  // namespace weir::pipeline
