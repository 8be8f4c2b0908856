// SPDX-License-Identifier: Apache-2.0
// What stands before the first request of a connection: the header of a balancer, the TLS handshake.
#include <limits>

#include "base/own_count.hpp"
#include "http/connection.hpp"
#include "http/server.hpp"
#include "net/tls_stream.hpp"

namespace weir::http {

using boost::asio::awaitable;
using net::Interest;
using net::Wake;

namespace {

constexpr auto kNoCap = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());

}  // namespace

std::unique_ptr<net::Stream> Connection::make_stream(Server& server, int descriptor,
                                                     const ListenerOptions* listener) {
  if (listener != nullptr && listener->tls != nullptr) {
    return std::make_unique<net::TlsStream>(server.loop_, descriptor, listener->tls);
  }
  return std::make_unique<net::Stream>(server.loop_, descriptor, true);
}

awaitable<bool> Connection::open_up() {
  const std::int64_t limit = options_->header_timeout.count();
  const std::int64_t until = limit > 0 ? server_.loop_.now_ms() + limit : 0;
  if (awaits_proxy_header_) {
    const bool taken = co_await read_proxy_header(until);
    if (!taken) co_return false;
  }
  if (tls_ != nullptr) {
    const bool done = co_await handshake(until);
    if (!done) co_return false;
  }
  since_ms_ = server_.loop_.now_ms();
  co_return !killed_;
}

// Only looked at until it is whole: what follows belongs to TLS or HTTP.
awaitable<bool> Connection::read_proxy_header(std::int64_t deadline_ms) {
  for (;;) {
    const auto room = server_.loop_.scratch().first(net::ProxyHeader::kMaxBytes + 1);
    const auto seen = stream_->try_peek(room);
    if (!seen && !net::would_block(seen.error())) co_return false;
    if (seen && *seen == 0) co_return refuse_proxy(ProxyFault::malformed);
    if (seen) {
      const net::ProxyHeader header = net::parse_proxy_header({room.data(), *seen});
      if (header.state == net::ProxyHeader::State::complete) co_return take_proxy_header(header);
      const bool hopeless = header.state == net::ProxyHeader::State::malformed || stream_->peer_ended();
      if (hopeless) co_return refuse_proxy(ProxyFault::malformed);
    }
    const Wake wake = co_await stream_->wait(Interest::read, deadline_ms);
    if (wake == Wake::timed_out) co_return refuse_proxy(ProxyFault::timeout);
    if (wake == Wake::canceled) co_return false;
  }
}

// From here on the client is who the balancer says it is, for limits, logs and the cap by address.
bool Connection::take_proxy_header(const net::ProxyHeader& header) {
  if (!stream_->drop(header.size)) return false;
  if (header.source == net::ProxyHeader::Source::own) return true;
  // It is counted already, under the balancer's address: for a moment twice, which no cap shall see.
  const auto verdict =
      server_.budget_->take(header.client.address, kNoCap, options_->connections_per_address);
  if (verdict != ConnectionBudget::Verdict::granted) {
    server_.stats_.rejected.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  server_.budget_->give_back(peer_.address);
  peer_ = header.client;
  return true;
}

bool Connection::refuse_proxy(ProxyFault fault) noexcept {
  add_own(server_.stats_.proxy_faults[static_cast<std::size_t>(fault)]);
  return false;
}

awaitable<bool> Connection::handshake(std::int64_t deadline_ms) {
  const Result<void> done = co_await tls_->handshake(deadline_ms);
  ServerStats& stats = server_.stats_;
  if (done) {
    add_own(stats.handshakes[static_cast<std::size_t>(tls_->version())]);
    if (tls_->resumed()) add_own(stats.resumed);
    co_return true;
  }
  if (!killed_) add_own(stats.tls_failures[static_cast<std::size_t>(net::tls_error_of(done.error()))]);
  co_return false;
}

}  // namespace weir::http
