// SPDX-License-Identifier: Apache-2.0
// The steps that GatewayHandler::handle() names, except judging (judging.cpp) and replies (replies.cpp).
#include "base/stopwatch.hpp"
#include "identity/forwarded_fields.hpp"
#include "identity/request_id.hpp"
#include "pipeline/balance_key.hpp"
#include "pipeline/cors.hpp"
#include "pipeline/cost.hpp"
#include "pipeline/gateway_handler.hpp"
#include "pipeline/rate_limit_fields.hpp"
#include "weir/base/append.hpp"

namespace weir::pipeline {
namespace {

namespace dimension = identity::dimension;

// Derived texts of identities live in the exchange's arena.
class ExchangeScratch final : public identity::Scratch {
 public:
  explicit ExchangeScratch(http::Exchange& exchange) : exchange_(exchange) {}
  std::string_view keep(std::string_view text) override { return exchange_.keep(text); }

 private:
  http::Exchange& exchange_;
};

std::string_view missing_policy_name(const identity::DimensionOptions& options) {
  if (!options.missing) return "none";
  switch (*options.missing) {
    case identity::Missing::anonymous:
      return "anonymous";
    case identity::Missing::ip:
      return "ip";
    case identity::Missing::reject:
      break;
  }
  return "reject";
}

}  // namespace

void GatewayHandler::open(http::Exchange& exchange, RequestContext& context) {
  context.runtime = services_.runtime.current();
  context.started_us = monotonic_us();
  context.wall_ms = services_.clock.wall_ms();
  const http::Field* given = exchange.request().find("X-Request-Id");
  identity::append_request_id(context.request_id, given != nullptr ? given->value : std::string_view(),
                              context.wall_ms);
}

// False: the request was refused for its path or its missing identity.
bool GatewayHandler::identify(http::Exchange& exchange, RequestContext& context) {
  ExchangeScratch scratch(exchange);
  const Runtime& runtime = *context.runtime;
  identity::Extraction& found = context.extraction;
  const identity::Extractor::Peer peer(exchange.peer_address(), exchange.client_certificate());
  runtime.extractor.extract(exchange.request(), peer, scratch, found);
  if (found.auth_fault != identity::AuthFault::none) {
    services_.sink.authentication_failed(name_of(found.auth_fault));
  }
  for (const auto& options : runtime.extractor.options().dimensions) {
    if (found.missing == 0) break;
    if ((found.missing >> options.index & 1U) == 0) continue;
    services_.sink.identity_missing(options.name, missing_policy_name(options));
  }
  if (found.refusal != identity::Refusal::none) return false;

  const auto route = runtime.route_table.find(exchange.request().method_text, found.normal_path);
  if (route) {
    context.route = &runtime.routes[*route];
    found.identity[dimension::upstream] = {context.route->upstream, identity::Presence::present};
  }
  context.cost =
      request_cost(exchange.request(), found.identity.text(dimension::api), found.peer_trusted, runtime.cost);
  return true;
}

// The fields that the upstream and the client shall see, and those they shall not. (Not a coroutine around
// forward(): one frame fewer per request.)
void GatewayHandler::plan_forward(const http::Exchange& exchange, RequestContext& context) {
  const Runtime& runtime = *context.runtime;
  const http::RequestHead& head = exchange.request();
  identity::append_forwarded_fields(context.request_fields, head, exchange.peer_address(), exchange.secure(),
                                    context.extraction.peer_trusted);
  append(context.request_fields, "X-Request-Id: ", context.request_id, "\r\n");
  append_rate_limit_fields(context.response_fields, context.charges, context.decision, runtime.answers,
                           context.wall_ms);
  append_cors_fields(context.response_fields, head, runtime.answers.cors);
  append(context.response_fields, "X-Request-Id: ", context.request_id, "\r\n");

  upstream::ForwardPlan& plan = context.plan;
  plan.request_target = head.target;
  if (runtime.forward_normal_path || !head.target.starts_with('/')) {
    context.target = runtime.forward_normal_path ? context.extraction.normal_path : head.path;
    if (!head.query.empty()) {
      context.target += '?';
      context.target += head.query;
    }
    plan.request_target = context.target;
  }
  plan.request_fields = context.request_fields;
  plan.response_fields = context.response_fields;
  plan.remove_request_fields =
      context.extraction.peer_trusted ? &runtime.removed_from_trusted : &runtime.removed_from_others;
  plan.remove_response_fields = &runtime.removed_from_responses;
  const upstream::ClusterOptions& cluster = runtime.clusters[context.route->cluster];
  const bool core = context.route->criticality == Criticality::core;
  plan.terms = core ? upstream::Terms::core : upstream::Terms::ordinary;
  if (cluster.balance == upstream::Balance::hash) {
    plan.balance_key = balance_key(cluster.hash, head, context.extraction);
  }
  plan.cost_response_field = runtime.cost.settle_response_header;
}

}  // namespace weir::pipeline
