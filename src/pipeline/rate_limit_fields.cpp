// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rate_limit_fields.hpp"

#include <algorithm>

#include "pipeline/text.hpp"

namespace weir::pipeline {
namespace {

using limit::AlgorithmKind;
using limit::Charge;
using limit::ChargeSet;
using limit::Decision;

// A layer that nobody counted (the store is down and it lets pass) has no numbers to show.
bool has_numbers(const Charge& charge) {
  return charge.answered == limit::Answered::store || charge.answered == limit::Answered::local;
}

bool is_bucket(AlgorithmKind kind) {
  return kind == AlgorithmKind::token_bucket || kind == AlgorithmKind::gcra ||
         kind == AlgorithmKind::leaky_bucket;
}

// Seconds until the next permit; -1 where it is not known (a rolling window that still has room).
std::int64_t next_permit_seconds(const Charge& charge) {
  const auto& verdict = charge.verdict;
  const auto& terms = charge.policy->terms;
  if (!verdict.within_limit) {
    return verdict.retry_after_ms > 0 ? ceil_seconds(verdict.retry_after_ms) : -1;
  }
  if (terms.algorithm == AlgorithmKind::fixed_window) return ceil_seconds(verdict.reset_ms);
  if (is_bucket(terms.algorithm))
    return std::max<std::int64_t>(1, ceil_seconds(terms.window_ms / terms.limit));
  return -1;
}

void append_policy_item(std::string& out, std::string_view before, const Charge& charge) {
  const auto& terms = charge.policy->terms;
  const std::string_view layer = charge.policy->layer;
  if (terms.algorithm == AlgorithmKind::concurrency) {
    append(out, before, "\"", layer, "\";q=", terms.limit, ";qu=\"concurrent-requests\"");
  } else if (terms.window_ms % 1000 == 0) {
    append(out, before, "\"", layer, "\";q=", terms.limit, ";w=", terms.window_ms / 1000);
  } else {
    append(out, before, "\"", layer, "\";q=", terms.limit);
  }
}

void append_limit_item(std::string& out, std::string_view before, const Charge& charge) {
  const std::int64_t remaining = charge.verdict.within_limit ? charge.verdict.remaining : 0;
  const std::string_view layer = charge.policy->layer;
  if (const std::int64_t seconds = next_permit_seconds(charge); seconds >= 0) {
    append(out, before, "\"", layer, "\";r=", remaining, ";t=", seconds);
  } else {
    append(out, before, "\"", layer, "\";r=", remaining);
  }
}

// `before` stands in front of the item.
using AppendItem = void (*)(std::string&, std::string_view before, const Charge&);

void append_list(std::string& out, std::string_view name, const ChargeSet& set, const Decision& decision,
                 AppendItem append_item) {
  bool first = true;
  for (std::size_t n = 0; n < set.size; ++n) {
    const bool shown = (decision.hits >> n & 1U) != 0 || n == decision.tightest;
    if (!shown || !has_numbers(set.charge[n])) continue;
    append_item(out, first ? name : std::string_view(", "), set.charge[n]);
    first = false;
  }
  if (!first) out += "\r\n";
}

void append_legacy(std::string& out, const Charge& charge, LegacyReset reset, std::int64_t wall_ms) {
  const bool epoch = reset == LegacyReset::epoch;
  const std::int64_t remaining = charge.verdict.within_limit ? charge.verdict.remaining : 0;
  append(out, "X-RateLimit-Limit: ", charge.verdict.limit, "\r\nX-RateLimit-Remaining: ", remaining,
         "\r\nX-RateLimit-Reset: ", ceil_seconds((epoch ? wall_ms : 0) + charge.verdict.reset_ms), "\r\n");
}

}  // namespace

std::int64_t retry_after_seconds(const Decision& decision) noexcept {
  if (decision.retry_after_ms == limit::kNever) return 0;
  return std::max<std::int64_t>(1, ceil_seconds(decision.retry_after_ms));
}

void append_rate_limit_fields(std::string& out, const ChargeSet& set, const Decision& decision,
                              const AnswerOptions& options, std::int64_t wall_ms) {
  const bool refused = !decision.allowed();
  if (refused && options.retry_after && decision.outcome != limit::Outcome::blocked) {
    if (const std::int64_t seconds = retry_after_seconds(decision); seconds > 0) {
      append(out, "Retry-After: ", seconds, "\r\n");
    }
  }
  if (options.ietf) {
    append_list(out, "RateLimit-Policy: ", set, decision, append_policy_item);
    append_list(out, "RateLimit: ", set, decision, append_limit_item);
  }
  const std::uint8_t shown =
      decision.final_hit != Decision::kNoLayer ? decision.final_hit : decision.tightest;
  if (options.legacy != LegacyReset::off && shown != Decision::kNoLayer && has_numbers(set.charge[shown])) {
    append_legacy(out, set.charge[shown], options.legacy, wall_ms);
  }
}

const std::vector<std::string>& rate_limit_field_names() {
  static const std::vector<std::string> names{
      "ratelimit",         "ratelimit-policy", "x-ratelimit-limit",   "x-ratelimit-remaining",
      "x-ratelimit-reset", "ratelimit-limit",  "ratelimit-remaining", "ratelimit-reset"};
  return names;
}

std::string_view exposed_field_names() noexcept {
  return "Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, "
         "X-RateLimit-Reset, "
         "X-Request-Id";
}

}  // namespace weir::pipeline
