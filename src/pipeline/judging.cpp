// SPDX-License-Identifier: Apache-2.0
// Counting: identity to charges, charges to a decision, and holding a request back where its policy says
// wait.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/stopwatch.hpp"
#include "pipeline/gateway_handler.hpp"

namespace weir::pipeline {
namespace {

// Requests held back at once, per worker. Beyond it they are refused, as if their policy said reject.
constexpr std::size_t kMaxHeld = 4096;

constexpr std::uint64_t kOwnerMask = (std::uint64_t{1} << 53) - 1;  // exact in a Lua number

}  // namespace

void GatewayHandler::build_charges(RequestContext& context) {
  const auto& identity = context.extraction.identity;
  const std::size_t dimensions = context.runtime->extractor.dimensions();
  for (std::size_t d = 0; d < dimensions; ++d) {
    const auto& value = identity.value[d];
    context.facts[d] = {value.text, static_cast<limit::Fact>(value.presence)};
  }
  if (context.owner == 0) context.owner = ((next_owner_ += 2) & kOwnerMask) | 1U;  // odd, so never 0
  const limit::Descriptor who{
      {context.facts.data(), dimensions}, identity.exempt, context.cost, context.owner};
  context.charges.clear();
  context.decision = limit::Decision();
  context.decision.blocked_layer = context.runtime->chain.build(who, context.wall_ms, context.charges);
}

void GatewayHandler::conclude(RequestContext& context) {
  context.decision = limit::conclude(context.charges);
  context.decided = true;
  if (context.holds_slots()) services_.slots.add(context);
}

// True if the decision stands and nothing has to be waited for: the whole path in memory mode.
bool GatewayHandler::judge_now(RequestContext& context) {
  build_charges(context);
  if (!context.decision.blocked_layer.empty()) {
    context.decision.outcome = limit::Outcome::blocked;
    context.decided = true;
    return true;
  }
  if (context.charges.size == 0) {
    conclude(context);
    return true;
  }
  const std::int64_t began = monotonic_us();
  if (!services_.store.decide_now(context.charges)) return false;
  conclude(context);
  context.limiter_us = monotonic_us() - began;
  return !context.decision.delayable && context.decision.wait_ms == 0;
}

// The rest: asks a store that has to be waited for, and holds back what policies say may wait.
boost::asio::awaitable<void> GatewayHandler::judge(http::Exchange& exchange, RequestContext& context) {
  std::int64_t held_ms = 0;
  while (true) {
    if (!context.decided) {
      const std::int64_t began = monotonic_us();
      co_await services_.store.decide(context.charges);
      conclude(context);
      context.limiter_us += monotonic_us() - began;
    }
    limit::Decision& decision = context.decision;
    if (!decision.delayable) break;
    const std::int64_t wait_ms = decision.retry_after_ms;
    if (held_ms + wait_ms > limit::granted_delay_ms(context.charges, decision)) break;
    const bool waited = co_await hold(exchange, wait_ms);
    if (!waited) co_return;
    held_ms += wait_ms;
    services_.slots.release(context);
    context.decided = false;
    build_charges(context);
    if (services_.store.decide_now(context.charges)) conclude(context);
  }
  if (context.decision.allowed() && context.decision.wait_ms > 0) {
    const std::int64_t wait_ms = context.decision.wait_ms;
    const bool waited = co_await hold(exchange, wait_ms);
    if (!waited) {
      context.decision.outcome = limit::Outcome::over_limit;
      context.decision.retry_after_ms = std::max(wait_ms, std::int64_t{1000});
    }
  }
}

// Waits; false if the client left or too many requests are held already. A permit once taken stays spent.
boost::asio::awaitable<bool> GatewayHandler::hold(http::Exchange& exchange, std::int64_t wait_ms) {
  if (held_ >= kMaxHeld) co_return false;
  boost::asio::steady_timer timer(services_.executor, std::chrono::milliseconds(wait_ms));
  const http::Exchange::Canceller canceller{
      [](void* context) { static_cast<boost::asio::steady_timer*>(context)->cancel(); }, &timer};
  ++held_;
  services_.sink.held(+1);
  exchange.set_canceller(canceller);
  constexpr auto kUseTuple = boost::asio::as_tuple(boost::asio::use_awaitable);
  co_await timer.async_wait(kUseTuple);
  exchange.clear_canceller();
  services_.sink.held(-1);
  --held_;
  co_return !exchange.client_gone();
}

}  // namespace weir::pipeline
