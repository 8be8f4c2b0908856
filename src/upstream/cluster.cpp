// SPDX-License-Identifier: Apache-2.0
#include "upstream/cluster.hpp"

#include <algorithm>

#include "base/own_count.hpp"
#include "base/stopwatch.hpp"
#include "http/local_reply.hpp"
#include "upstream/error_reply.hpp"
#include "weir/http/error.hpp"

namespace weir::upstream {

using boost::asio::awaitable;
using net::Interest;
using net::Wake;

namespace {

constexpr std::size_t kAddressesTried = 3;  // of one endpoint, per attempt

}  // namespace

Cluster::Cluster(net::EventLoop& loop, const ClusterOptions& options) : loop_(loop) {
  update(options);
}

Cluster::~Cluster() = default;

void Cluster::update(const ClusterOptions& options) {
  Endpoints next;
  for (const EndpointOptions& wanted : options.endpoints) {
    const auto same = std::find_if(endpoints_.begin(), endpoints_.end(),
                                   [&wanted](const auto& one) { return one->options() == wanted; });
    next.push_back(same != endpoints_.end() ? *same : std::make_shared<Endpoint>(loop_, wanted));
  }
  for (const auto& endpoint : endpoints_) {
    if (std::find(next.begin(), next.end(), endpoint) == next.end()) endpoint->retire();
  }
  endpoints_ = std::move(next);
  options_ = std::make_shared<const ClusterOptions>(options);
}

void Cluster::retire() noexcept {
  for (const auto& endpoint : endpoints_) endpoint->retire();
}

void Cluster::stop() noexcept {
  stopped_ = true;
  retire();
  const std::vector<Relay*> running = running_;
  for (Relay* relay : running) {
    if (std::find(running_.begin(), running_.end(), relay) != running_.end()) relay->cancel();
  }
}

Cluster::Forward::Forward(std::shared_ptr<Cluster> cluster_, http::Exchange& exchange_,
                          const ForwardPlan& plan_)
    : cluster(std::move(cluster_)), options(cluster->options_), exchange(exchange_), plan(plan_) {
  if (cluster->relays_.empty()) {
    relay = std::make_unique<Relay>(cluster->loop_);
  } else {
    relay = std::move(cluster->relays_.back());
    cluster->relays_.pop_back();
  }
  cluster->running_.push_back(relay.get());
}

Cluster::Forward::~Forward() {
  connection.reset();
  if (endpoint != nullptr) add_own(endpoint->stats().outstanding, -1);
  relay->end();
  auto& running = cluster->running_;
  const auto mine = std::find(running.begin(), running.end(), relay.get());
  *mine = running.back();
  running.pop_back();
  if (cluster->relays_.size() < kKeptRelays) cluster->relays_.push_back(std::move(relay));
}

void Cluster::Forward::choose() {
  const Endpoint* last = endpoint.get();
  auto next = cluster->balancer_.pick(cluster->endpoints_, options->balance, last);
  leave(ForwardError::none);
  endpoint = std::move(next);
  if (endpoint == nullptr) return;
  add_own(endpoint->stats().outstanding);
  result.endpoint = endpoint->name();
}

void Cluster::Forward::leave(ForwardError error) noexcept {
  if (endpoint == nullptr) return;
  if (error != ForwardError::none) {
    add_own(endpoint->stats().ended[static_cast<std::size_t>(error)]);
  }
  add_own(endpoint->stats().outstanding, -1);
  endpoint.reset();
}

awaitable<ForwardResult> Cluster::forward(http::Exchange& exchange, const ForwardPlan& plan) {
  return run(shared_from_this(), exchange, plan);
}

awaitable<ForwardResult> Cluster::run(std::shared_ptr<Cluster> self, http::Exchange& exchange,
                                      const ForwardPlan& plan) {
  Forward forward(std::move(self), exchange, plan);
  if (ends_here(exchange.request())) {
    http::LocalReply reply;
    reply.status = 200;
    reply.field_lines = plan.response_fields;
    co_await exchange.reply(reply);
    co_return std::move(forward.result);
  }
  forward.choose();
  ForwardError error = ForwardError::no_endpoint;
  if (forward.endpoint != nullptr) {
    forward.relay->begin(exchange, plan, *forward.options, forward.endpoint->name());
    error = forward.relay->error();
    for (bool again = error == ForwardError::none; again; again = another_attempt(forward, error)) {
      error = ForwardError::none;
      if (!reuse(forward)) error = co_await connect(forward);
      if (error == ForwardError::none) error = co_await forward.relay->run();
    }
  }
  conclude(forward, error);
  if (error != ForwardError::none) co_await answer(forward, error);
  co_return std::move(forward.result);
}

// Takes a pooled connection. Afterwards the relay's waits are made on it.
bool Cluster::reuse(Forward& forward) {
  ++forward.result.attempts;
  forward.result.connect_us = 0;
  Endpoint& endpoint = *forward.endpoint;
  add_own(endpoint.stats().requests);
  if (forward.retried) return false;
  const auto check = forward.relay->is_idempotent() ? Endpoint::Check::events : Endpoint::Check::kernel;
  forward.connection = endpoint.take(check);
  if (forward.connection == nullptr) return false;
  forward.relay->use(&forward.connection->stream());
  return true;
}

awaitable<ForwardError> Cluster::connect(Forward& forward) {
  net::ResolvedName& addresses = forward.endpoint->addresses();
  const net::PeerAddress* address = addresses.next();
  if (address == nullptr) {
    co_await addresses.wait_for_first(forward.relay->deadline(forward.options->connect_timeout));
    address = addresses.next();
  }
  ForwardError error = ForwardError::connect_failed;
  // A name may stand for several addresses of which only some answer (localhost: ::1 and 127.0.0.1).
  const std::size_t tries = std::min(addresses.count(), kAddressesTried);
  for (std::size_t n = 0; n < tries && address != nullptr && error == ForwardError::connect_failed; ++n) {
    const net::PeerAddress target = *address;
    error = co_await connect_to(forward, target);
    if (error == ForwardError::connect_failed) address = addresses.next();
  }
  co_return error;
}

awaitable<ForwardError> Cluster::connect_to(Forward& forward, const net::PeerAddress& address) {
  Endpoint& endpoint = *forward.endpoint;
  const std::int64_t began_us = monotonic_us();
  add_own(endpoint.stats().connects);
  auto stream = net::begin_connect(endpoint.loop(), address);
  forward.relay->use(nullptr);
  if (!stream) co_return ForwardError::connect_failed;
  forward.connection = std::make_unique<UpstreamConnection>(endpoint, std::move(*stream));
  net::Stream& wire = forward.connection->stream();
  forward.relay->use(&wire);
  if (!wire.may_write()) {
    const std::int64_t until = forward.relay->deadline(forward.options->connect_timeout);
    const Wake wake = co_await wire.wait(Interest::write, until);
    if (wake == Wake::canceled) co_return forward.relay->why_canceled();
    if (wake == Wake::timed_out) co_return ForwardError::connect_timeout;
  }
  if (wire.connect_error()) co_return ForwardError::connect_failed;
  forward.result.connect_us = monotonic_us() - began_us;
  co_return ForwardError::none;
}

// Whether to try again, and where. Once on a fresh connection if a pooled one had died; once at another
// endpoint if this one did not take the connection.
bool Cluster::another_attempt(Forward& forward, ForwardError error) {
  if (error == ForwardError::none || forward.retried || forward.cluster->stopped_) return false;
  const bool refused = error == ForwardError::connect_failed || error == ForwardError::connect_timeout;
  const bool stale =
      forward.connection != nullptr && forward.connection->reused() && forward.relay->may_repeat();
  if (!stale && !(refused && forward.cluster->endpoints_.size() > 1)) return false;
  forward.relay->rewind();
  forward.connection.reset();
  add_own(forward.endpoint->stats().retries);
  if (refused) {
    forward.endpoint->addresses().complain();
    add_own(forward.endpoint->stats().ended[static_cast<std::size_t>(error)]);
    forward.choose();
  }
  forward.retried = stale;
  return forward.endpoint != nullptr;
}

void Cluster::conclude(Forward& forward, ForwardError error) {
  const Relay& relay = *forward.relay;
  ForwardResult& result = forward.result;
  result.error = error;
  result.upstream_status = relay.upstream_status();
  result.response_us = relay.response_us();
  result.cost_header = relay.cost().value;
  result.has_cost_header = relay.cost().present;
  if (forward.endpoint == nullptr) return;
  EndpointStats& stats = forward.endpoint->stats();
  add_own(stats.ended[static_cast<std::size_t>(error)]);
  if (result.upstream_status != 0) {
    add_own(stats.responses);
    add_own(stats.response_us_sum, static_cast<std::uint64_t>(result.response_us));
  }
  if (error == ForwardError::none && relay.connection_is_clean()) {
    forward.endpoint->give_back(std::move(forward.connection), forward.options->keep_alive,
                                forward.options->idle_connections);
  }
  forward.connection.reset();
}

// Nothing came of it: the client gets a whole response of the gateway's own, or sees that its response broke.
awaitable<void> Cluster::answer(Forward& forward, ForwardError error) {
  http::Exchange& exchange = forward.exchange;
  forward.relay->use(nullptr);
  if (exchange.response_started() || exchange.client_gone() || error == ForwardError::client_gone) {
    exchange.abort();
    co_return;
  }
  const ErrorReply text(error, forward.relay->body_error(), forward.plan.response_fields);
  if (text.status == 0) {
    exchange.abort();
    co_return;
  }
  const http::LocalReply reply = text.local_reply();
  co_await exchange.reply(reply);
}

}  // namespace weir::upstream
