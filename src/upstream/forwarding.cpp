// SPDX-License-Identifier: Apache-2.0
// The loop over the attempts of one request.
#include <algorithm>

#include "base/own_count.hpp"
#include "base/stopwatch.hpp"
#include "http/local_reply.hpp"
#include "net/tls_stream.hpp"
#include "telemetry/log.hpp"
#include "upstream/cluster.hpp"
#include "upstream/error_reply.hpp"

namespace weir::upstream {

using boost::asio::awaitable;
using net::Interest;
using net::Wake;

namespace {

constexpr std::size_t kAddressesTried = 3;  // of one endpoint, per attempt

}  // namespace

// In the queue for a connection; left when the coroutine ends, however it does.
struct Cluster::Place {
  Place(Forward& forward_, net::Waiter& waiter)
      : forward(forward_), ticket(std::make_shared<QueueTicket>(forward_.cluster->loop_.io(), waiter)) {
    forward.relay->use_waiter(&waiter);
  }
  ~Place() { leave(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void leave() {
    if (left) return;
    left = true;
    forward.relay->use_waiter(nullptr);
    forward.place = forward.cluster->shared_->leave(ticket);
  }

  Forward& forward;
  std::shared_ptr<QueueTicket> ticket;
  bool left = false;
};

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
  forward.relay->begin(exchange, plan, *forward.options, forward.cluster->fallback_host_);
  forward.cluster->budget_.request(forward.cluster->loop_.now_ms());
  ForwardError error = forward.relay->error();
  for (bool again = error == ForwardError::none; again; again = another_attempt(forward, error)) {
    if (forward.back_off_ms > 0) co_await back_off(forward);
    error = choose(forward);
    if (forward.must_wait) error = co_await wait_for_place(forward);
    if (error == ForwardError::none && !reuse(forward)) error = co_await connect(forward);
    if (error == ForwardError::none) error = co_await forward.relay->run();
    record(forward, error);
  }
  conclude(forward, error);
  if (error != ForwardError::none) co_await answer(forward, error);
  co_return std::move(forward.result);
}

// The endpoint of the next attempt, or that one has to be waited for.
ForwardError Cluster::choose(Forward& forward) {
  const Cluster& cluster = *forward.cluster;
  forward.must_wait = false;
  Choice choice;
  choice.balance = forward.options->balance;
  choice.key = forward.plan.balance_key;
  choice.bound_percent = forward.options->hash.bound_percent;
  choice.slow_start_ms = forward.options->slow_start.count();
  choice.now_ms = cluster.loop_.now_ms();
  if (cluster.endpoints_.empty()) return ForwardError::no_endpoint;
  if (forward.relay->canceled()) return forward.relay->why_canceled();
  if (forward.options->cap.max_connections != 0) {
    forward.must_wait = !choose_free(forward, choice);
  } else {
    forward.take(forward.cluster->balancer_.pick(cluster.endpoints_, choice, forward.tried));
  }
  return ForwardError::none;
}

// Endpoints at their cap are passed over. Not so for ones that are out of service while others are not: those
// are worse than waiting.
bool Cluster::choose_free(Forward& forward, const Choice& choice) {
  Cluster& cluster = *forward.cluster;
  const Endpoints& endpoints = cluster.endpoints_;
  const bool any_in_service = std::any_of(endpoints.begin(), endpoints.end(), [&](const auto& one) {
    return one->shared()->in_service(choice.now_ms);
  });
  std::vector<const Endpoint*> passed = forward.tried;
  for (std::size_t n = 0; n < endpoints.size(); ++n) {
    auto next = cluster.balancer_.pick(endpoints, choice, passed);
    if (any_in_service && !next->shared()->in_service(choice.now_ms)) return false;
    if (cluster.shared_->try_acquire(*next->shared())) {
      forward.place = next->shared();
      forward.take(std::move(next));
      return true;
    }
    passed.push_back(next.get());
  }
  return false;
}

awaitable<ForwardError> Cluster::wait_for_place(Forward& forward) {
  Cluster& cluster = *forward.cluster;
  forward.must_wait = false;
  net::Waiter waiter(cluster.loop_.wheel());
  Place place(forward, waiter);
  const auto begun = cluster.shared_->enqueue(place.ticket);
  if (begun == SharedCluster::Queued::full) co_return ForwardError::queue_full;
  Wake wake = Wake::ready;
  if (begun == SharedCluster::Queued::waits) {
    const std::int64_t until = forward.relay->deadline(forward.options->cap.queue_wait);
    wake = co_await waiter.wait(until);
  }
  place.leave();
  if (wake == Wake::canceled) co_return forward.relay->why_canceled();
  if (forward.place == nullptr) {
    cluster.shared_->queue_timeouts.fetch_add(1, std::memory_order_relaxed);
    co_return ForwardError::queue_timeout;
  }
  const auto granted = std::find_if(cluster.endpoints_.begin(), cluster.endpoints_.end(),
                                    [&](const auto& one) { return one->shared() == forward.place; });
  if (granted == cluster.endpoints_.end()) co_return ForwardError::no_endpoint;
  std::shared_ptr<Endpoint> next = *granted;
  forward.take(std::move(next));
  co_return ForwardError::none;
}

awaitable<void> Cluster::back_off(Forward& forward) {
  net::Waiter waiter(forward.cluster->loop_.wheel());
  forward.relay->use_waiter(&waiter);
  const auto pause = std::chrono::milliseconds(forward.back_off_ms);
  const std::int64_t until = forward.relay->deadline(pause);
  co_await waiter.wait(until);
  forward.relay->use_waiter(nullptr);
}

// Takes a pooled connection. Afterwards the relay's waits are made on it.
bool Cluster::reuse(Forward& forward) {
  ++forward.result.attempts;
  forward.result.connect_us = 0;
  Endpoint& endpoint = *forward.endpoint;
  add_own(endpoint.stats().requests);
  if (forward.paid + 1 < most_attempts(forward)) forward.relay->judge_status({&refuses_status, &forward});
  if (forward.replaced) return false;
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
    const std::int64_t until = forward.relay->deadline(forward.options->connect_timeout);
    co_await addresses.wait_for_first(until);
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
  forward.relay->use(nullptr);
  auto stream = dial(forward, address);
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
  if (forward.options->tls != nullptr) {
    const ForwardError failed = co_await secure(forward);
    if (failed != ForwardError::none) co_return failed;
  }
  forward.result.connect_us = monotonic_us() - began_us;
  co_return ForwardError::none;
}

Result<std::unique_ptr<net::Stream>> Cluster::dial(Forward& forward, const net::PeerAddress& address) {
  Endpoint& endpoint = *forward.endpoint;
  if (forward.options->tls == nullptr) return net::begin_connect(endpoint.loop(), address);
  net::TlsStream::Client client{forward.options->tls, endpoint.host(), endpoint.sessions()};
  WEIR_TRY(std::unique_ptr<net::Stream> stream,
           net::begin_connect(endpoint.loop(), address, std::move(client)));
  return stream;
}

// The handshake. What is wrong with a certificate is for the operator, never for the client.
awaitable<ForwardError> Cluster::secure(Forward& forward) {
  auto& wire = static_cast<net::TlsStream&>(forward.connection->stream());
  const std::int64_t until = forward.relay->deadline(forward.options->connect_timeout);
  const Result<void> done = co_await wire.handshake(until);
  if (done) co_return ForwardError::none;
  if (forward.relay->canceled()) co_return forward.relay->why_canceled();
  if (net::tls_error_of(done.error()) == net::TlsError::timeout) {
    co_return ForwardError::connect_timeout;
  }
  telemetry::log_limited(telemetry::LogLevel::error, "upstream.tls",
                         forward.cluster->name() + ": endpoint " + forward.endpoint->name() +
                             ": no TLS connection: " + done.error().message());
  co_return ForwardError::tls_failed;
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
