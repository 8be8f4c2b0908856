// SPDX-License-Identifier: Apache-2.0
#include "pipeline/refusal.hpp"

#include "pipeline/rate_limit_fields.hpp"
#include "pipeline/text.hpp"

namespace weir::pipeline {
namespace {

using limit::ChargeSet;
using limit::Decision;
using limit::Outcome;

struct Wording {
  std::string_view type, title, detail;
};

// Types: https://www.iana.org/assignments/http-problem-types and draft-ietf-httpapi-ratelimit-headers.
Wording wording(Outcome outcome) {
  switch (outcome) {
    case Outcome::over_limit:
      return {"https://iana.org/assignments/http-problem-types#quota-exceeded", "Too Many Requests",
              "A request quota is used up. Wait for the time in Retry-After, then try again."};
    case Outcome::blocked:
      return {"about:blank", "Forbidden", "Requests of this kind are blocked by policy."};
    case Outcome::cost_too_large:
      return {
          "about:blank", "Content Too Large",
          "This request costs more than the quota can ever hold. Waiting does not help; send a smaller one."};
    case Outcome::store_down:
      return {"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
              "Service Unavailable", "Quotas cannot be checked at the moment. Try again shortly."};
    case Outcome::allowed:
      break;
  }
  return {"about:blank", "OK", ""};
}

// ["user","api"]: the refusing layers in chain order.
void append_layers(std::string& out, const ChargeSet& set, const Decision& decision) {
  out += '[';
  bool first = true;
  const auto add = [&](std::string_view layer) {
    if (!first) out += ',';
    first = false;
    append_json_string(out, layer);
  };
  if (decision.outcome == Outcome::blocked) add(decision.blocked_layer);
  for (std::size_t n = 0; n < set.size; ++n) {
    if ((decision.hits >> n & 1U) != 0) add(set.charge[n].policy->layer);
  }
  out += ']';
}

// Nothing in a request's id needs an escape (identity::is_valid_request_id).
void append_instance(std::string& out, std::string_view request_id) {
  if (!request_id.empty()) append(out, ",\"instance\":\"/requests/", request_id, "\"");
}

void append_template(std::string& out, const ChargeSet& set, const Decision& decision,
                     const AnswerOptions& options, std::string_view request_id) {
  const auto has_hit = decision.final_hit != Decision::kNoLayer;
  const limit::Charge* hit = has_hit ? &set.charge[decision.final_hit] : nullptr;
  std::string_view rest = options.body_template;
  while (!rest.empty()) {
    const auto starts = [&](std::string_view name) {
      if (!rest.starts_with(name)) return false;
      rest.remove_prefix(name.size());
      return true;
    };
    if (starts("{status}")) {
      append(out, refusal_status(decision, options));
    } else if (starts("{layer}")) {
      append_json_escaped(out,
                          hit != nullptr ? std::string_view(hit->policy->layer) : decision.blocked_layer);
    } else if (starts("{layers}")) {
      append_layers(out, set, decision);
    } else if (starts("{retry_after}")) {
      append(out, retry_after_seconds(decision));
    } else if (starts("{limit}")) {
      append(out, hit != nullptr ? hit->verdict.limit : 0);
    } else if (starts("{request_id}")) {
      append_json_escaped(out, request_id);
    } else {
      out += rest.front();
      rest.remove_prefix(1);
    }
  }
}

}  // namespace

int refusal_status(const Decision& decision, const AnswerOptions& options) noexcept {
  switch (decision.outcome) {
    case Outcome::over_limit:
      return options.status;
    case Outcome::blocked:
      return 403;
    case Outcome::cost_too_large:
      return 413;
    case Outcome::store_down:
      return 503;
    case Outcome::allowed:
      break;
  }
  return 200;
}

std::string_view append_refusal_body(std::string& out, const ChargeSet& set, const Decision& decision,
                                     const AnswerOptions& options, std::string_view request_id) {
  if (decision.outcome == Outcome::over_limit && !options.body_template.empty()) {
    append_template(out, set, decision, options, request_id);
    return options.body_content_type;
  }
  // Texts of ours: nothing in them needs an escape.
  const Wording words = wording(decision.outcome);
  append(out, "{\"type\":\"", words.type, "\",\"title\":\"", words.title,
         "\",\"status\":", refusal_status(decision, options), ",\"detail\":\"", words.detail, "\"");
  append_instance(out, request_id);
  out += ",\"violated-policies\":";
  append_layers(out, set, decision);
  if (const std::int64_t seconds = retry_after_seconds(decision);
      seconds > 0 && decision.outcome != Outcome::blocked) {
    append(out, ",\"retry-after\":", seconds, "}\n");
  } else {
    out += "}\n";
  }
  return kProblemJson;
}

void append_problem(std::string& out, int status, std::string_view title, std::string_view detail,
                    std::string_view request_id) {
  append(out, "{\"type\":\"about:blank\",\"title\":\"", title, "\",\"status\":", status, ",\"detail\":");
  append_json_string(out, detail);
  append_instance(out, request_id);
  out += "}\n";
}

}  // namespace weir::pipeline
