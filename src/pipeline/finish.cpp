// SPDX-License-Identifier: Apache-2.0
#include "pipeline/finish.hpp"

#include <boost/container/static_vector.hpp>

#include "base/stopwatch.hpp"
#include "identity/addresses.hpp"
#include "pipeline/cost.hpp"
#include "pipeline/rate_limit_fields.hpp"
#include "pipeline/text.hpp"

namespace weir::pipeline {
namespace {

using identity::Dimension;
namespace dimension = identity::dimension;

// The first seconds after a window's switch have a metric of their own (TW-3): bursts gather there.
constexpr std::int64_t kSwitchMs = 5000;

bool just_switched(const limit::Charge& charge) {
  const auto& terms = charge.policy->terms;
  if (terms.algorithm != limit::AlgorithmKind::fixed_window || terms.calendar) return false;
  return charge.charged && terms.window_ms - charge.verdict.reset_ms < kSwitchMs;
}

telemetry::LayerRecord layer_record(const RequestContext& context, std::size_t n) {
  const limit::Charge& charge = context.charges.charge[n];
  telemetry::LayerRecord record;
  record.layer = charge.policy->layer;
  record.caller = context.extraction.identity.text(dimension::caller);
  record.refused = (context.decision.hits >> n & 1U) != 0;
  record.shadow_refused = (context.decision.shadow_hits >> n & 1U) != 0;
  record.warned = (context.decision.warnings >> n & 1U) != 0;
  record.charged = charge.charged;
  record.answered = static_cast<std::uint8_t>(charge.answered);
  record.limit = charge.verdict.limit;
  record.used = limit::capacity_of(charge.policy->terms) - charge.verdict.remaining;
  record.window_ms = charge.policy->terms.window_ms;
  record.just_switched = just_switched(charge);
  return record;
}

using NamedValues = boost::container::static_vector<telemetry::NamedValue, identity::kMaxDimensions>;

// What sources said of who asks, beside caller and user: a log line without it could not be replayed.
NamedValues further_identity(const RequestContext& context) {
  NamedValues out;
  for (const auto& options : context.runtime->extractor.options().dimensions) {
    const bool named = options.index == dimension::caller || options.index == dimension::user;
    if (named || options.from.empty()) continue;
    const std::string_view text = context.extraction.identity.text(options.index);
    if (!text.empty() && out.size() < out.capacity()) out.push_back({options.name, text});
  }
  return out;
}

std::string_view ending_name(http::Ending ending) {
  switch (ending) {
    case http::Ending::complete:
      return "complete";
    case http::Ending::client_gone:
      return "client_gone";
    case http::Ending::upstream_failed:
      return "upstream_failed";
    case http::Ending::timed_out:
      return "timed_out";
    case http::Ending::aborted:
      break;
  }
  return "aborted";
}

}  // namespace

std::string_view outcome_name(limit::Outcome outcome) noexcept {
  switch (outcome) {
    case limit::Outcome::allowed:
      return "allowed";
    case limit::Outcome::over_limit:
      return "over_limit";
    case limit::Outcome::blocked:
      return "blocked";
    case limit::Outcome::cost_too_large:
      return "cost_too_large";
    case limit::Outcome::store_down:
      break;
  }
  return "store_down";
}

std::string_view forward_error_name(upstream::ForwardError error) noexcept {
  using upstream::ForwardError;
  switch (error) {
    case ForwardError::none:
      return "";
    case ForwardError::no_endpoint:
      return "no_endpoint";
    case ForwardError::connect_failed:
      return "connect_failed";
    case ForwardError::connect_timeout:
      return "connect_timeout";
    case ForwardError::response_timeout:
      return "response_timeout";
    case ForwardError::bad_response:
      return "bad_response";
    case ForwardError::reset:
      return "reset";
    case ForwardError::client_gone:
      return "client_gone";
    case ForwardError::tls_failed:
      return "tls_failed";
    case ForwardError::queue_full:
      return "queue_full";
    case ForwardError::queue_timeout:
      return "queue_timeout";
    case ForwardError::unwanted_status:
      return "unwanted_status";
    case ForwardError::body_refused:
      break;
  }
  return "body_refused";
}

Finish::~Finish() {
  settle();
  emit();
  slots_.release(context_);
}

void Finish::settle() noexcept {
  if (!context_.decided || !context_.decision.allowed()) return;
  const auto cost = true_cost(context_.forwarded, exchange_.bytes_sent(), context_.runtime->cost);
  if (!cost || *cost == context_.cost) return;
  store_.settle(context_.charges, *cost - context_.cost);
  true_cost_ = *cost;
}

void Finish::emit() noexcept {
  const auto& identity = context_.extraction.identity;
  const auto& head = exchange_.request();
  boost::container::static_vector<telemetry::LayerRecord, limit::kMaxLayers> layers;
  const std::size_t count = context_.decided ? context_.charges.size : 0;
  for (std::size_t n = 0; n < count; ++n) layers.push_back(layer_record(context_, n));

  telemetry::RequestRecord record;
  record.wall_ms = context_.wall_ms;
  record.duration_us = monotonic_us() - context_.started_us;
  record.upstream_us = context_.forwarded.response_us;
  record.limiter_us = context_.limiter_us;
  record.request_id = context_.request_id;
  record.method = head.method_text;
  record.path = context_.extraction.normal_path;
  if (context_.route != nullptr) {
    record.route = context_.route->pattern;
    record.upstream = context_.route->upstream;
  }
  record.api = identity.text(dimension::api);
  record.caller = identity.text(dimension::caller);
  record.user = identity.text(dimension::user);
  identity::AddressText client;
  record.client = identity::address_text(context_.extraction.client, client);
  record.tls = exchange_.tls_version();
  record.endpoint = context_.forwarded.endpoint;
  record.status = exchange_.status();
  record.upstream_status = context_.forwarded.upstream_status;
  record.attempts = context_.forwarded.attempts;
  record.bytes_in = exchange_.bytes_received();
  record.bytes_out = exchange_.bytes_sent();
  record.outcome =
      context_.decided ? outcome_name(context_.decision.outcome) : std::string_view("not_judged");
  record.upstream_error = forward_error_name(context_.forwarded.error);
  record.ending = ending_name(exchange_.ending());
  record.exempt = identity.exempt;
  record.cost = context_.cost;
  record.true_cost = true_cost_ != 0 ? true_cost_ : context_.cost;
  const NamedValues further = further_identity(context_);
  record.identity = {further.data(), further.size()};
  if (context_.decided && !context_.decision.allowed()) {
    record.retry_after_s = retry_after_seconds(context_.decision);
    record.final_hit_layer = context_.decision.blocked_layer;
    if (context_.decision.final_hit != limit::Decision::kNoLayer) {
      const telemetry::LayerRecord& hit = layers[context_.decision.final_hit];
      record.final_hit_layer = hit.layer;
      record.limit_value = hit.limit;
      record.current_value = hit.used;
    }
  }
  record.layers = {layers.data(), layers.size()};
  sink_.finished(record);
}

}  // namespace weir::pipeline
