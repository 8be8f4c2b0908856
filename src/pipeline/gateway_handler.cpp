// SPDX-License-Identifier: Apache-2.0
#include "pipeline/gateway_handler.hpp"

#include "pipeline/cors.hpp"
#include "pipeline/finish.hpp"

namespace weir::pipeline {

// Order matters: a preflight costs nothing; who asks is known before anything is counted; everything is
// counted before a byte goes upstream; an unknown path is counted too, so that scanning for paths has its
// limit.
boost::asio::awaitable<void> GatewayHandler::handle(http::Exchange& exchange) {
  const auto pooled = contexts_.take();
  RequestContext& context = *pooled;
  open(exchange, context);  // one configuration for the whole request
  const Finish finish(exchange, context, services_.sink, services_.slots, services_.store);

  const AnswerOptions& answers = context.runtime->answers;
  if (cors_on(answers.cors) && !answers.cors.pass_preflight && is_preflight(exchange.request())) {
    const auto reply = preflight_reply(exchange, context);
    co_return co_await exchange.reply(reply);
  }
  if (!identify(exchange, context)) {
    const auto reply = identity_reply(exchange, context);
    co_return co_await exchange.reply(reply);
  }
  if (!judge_now(context)) co_await judge(exchange, context);
  if (exchange.client_gone()) co_return exchange.abort();
  if (!context.decision.allowed()) {
    const auto reply = refusal_reply(exchange, context);
    co_return co_await exchange.reply(reply);
  }
  upstream::Forwarder* forwarder =
      context.route != nullptr ? services_.forwarders.find(context.route->upstream) : nullptr;
  if (forwarder == nullptr) {
    const auto reply = no_route_reply(exchange, context);
    co_return co_await exchange.reply(reply);
  }
  plan_forward(exchange, context);
  context.forwarded = co_await forwarder->forward(exchange, context.plan);
}

void GatewayHandler::refused(int status, std::string_view reason) noexcept {
  services_.sink.malformed(status, reason);
}

}  // namespace weir::pipeline
