// SPDX-License-Identifier: Apache-2.0
// The rate-limit fields of an answer, every dialect from one decision (spec AN-1):
//   Retry-After                       RFC 9110, whole seconds, never jittered: a lone client that waits so
//   long passes RateLimit-Policy, RateLimit       draft-ietf-httpapi-ratelimit-headers-11; RFC 9651 lists
//   X-RateLimit-Limit/-Remaining/-Reset  the older triple; reset as epoch or as seconds left
// Refused: every refusing layer and the tightest one. Allowed: the tightest layer alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/runtime.hpp"
#include "weir/limit/decision.hpp"

namespace weir::pipeline {

// Appends complete field lines to `out`.
void append_rate_limit_fields(std::string& out, const limit::ChargeSet& set, const limit::Decision& decision,
                              const AnswerOptions& options, std::int64_t wall_ms);

// The value of Retry-After in seconds, at least 1; 0 when waiting cannot help (then the field is absent).
std::int64_t retry_after_seconds(const limit::Decision& decision) noexcept;

// Lower-case names of the fields above, for `upstream_fields: strip`.
const std::vector<std::string>& rate_limit_field_names();

// What the fields are called in Access-Control-Expose-Headers.
std::string_view exposed_field_names() noexcept;

}  // namespace weir::pipeline
