// SPDX-License-Identifier: Apache-2.0
#include "http/connection.hpp"

#include <algorithm>

#include "base/own_count.hpp"
#include "http/server.hpp"
#include "net/tls_stream.hpp"

namespace weir::http {

using boost::asio::awaitable;
using net::Interest;
using net::Wake;

namespace {

constexpr int kExchangesPerTurn = 32;        // of one connection, before others get a turn
constexpr std::int64_t kIdleDrainMs = 1000;  // what an idle connection is given to send one more request

}  // namespace

Connection::Connection(Server& server, int descriptor, const net::PeerAddress& peer,
                       const ListenerOptions* listener)
    : server_(server),
      stream_(make_stream(server, descriptor, listener)),
      tls_(listener != nullptr && listener->tls != nullptr ? static_cast<net::TlsStream*>(stream_.get())
                                                           : nullptr),
      peer_(peer),
      options_(server.options_),
      since_ms_(server.loop_.now_ms()),
      awaits_proxy_header_(listener != nullptr &&
                           listener->preamble == ListenerOptions::Preamble::proxy_protocol) {}

Connection::~Connection() {
  release_exchange();
  stream_->close();
  server_.forget(*this);
}

// The coroutine waits for this client, or for somebody whom the canceller knows. Either call may run it to
// its end, and destroy this: nothing is touched after it.
void Connection::kill() {
  killed_ = true;
  ServerExchange* exchange = exchange_.get();
  if (exchange != nullptr) exchange->lose_client();
  const bool waits_here = stream_->waiting();
  stream_->cancel();
  if (!waits_here && exchange != nullptr) exchange->call_canceller();
}

awaitable<void> Connection::run(std::unique_ptr<Connection> self) {
  if (self->tls_ != nullptr || self->awaits_proxy_header_) {
    const bool open = co_await self->open_up();
    if (!open) co_return;
  }
  self->opened_ = true;
  for (Step step = self->next_step();; step = self->next_step()) {
    if (step == Step::wait) {
      const std::int64_t until = self->wait_deadline();
      const Wake wake = co_await self->stream_->wait(Interest::read, until);
      step = self->after_wait(wake);
      self->exchanges_in_turn_ = 0;
    }
    if (step == Step::exchange) {
      ServerExchange& exchange = *self->exchange_;
      co_await self->server_.handler_.handle(exchange);
      exchange.clear_canceller();
      if (!exchange.settled()) co_await exchange.settle();
      if (!self->prepare_next()) co_return;
      if (++self->exchanges_in_turn_ >= kExchangesPerTurn) {
        self->exchanges_in_turn_ = 0;
        co_await self->server_.loop_.yield();
      }
    }
    if (step == Step::refuse) co_await self->exchange_->refuse(self->refused_status_);
    if (step == Step::refuse || step == Step::close) co_return;
  }
}

Connection::Step Connection::next_step() {
  if (killed_) return Step::close;
  if (exchange_ != nullptr && exchange_->has_bytes()) {
    const Step step = parse();
    if (step != Step::wait) return step;
  }
  return read_more();
}

// Reads into the worker's scratch; only what belongs to a head under way is kept.
Connection::Step Connection::read_more() {
  for (;;) {
    const std::span<char> scratch = server_.loop_.scratch();
    const auto got = stream_->try_read(scratch);
    if (!got && net::would_block(got.error())) {
      if (exchange_ != nullptr && !exchange_->has_bytes()) release_exchange();
      return Step::wait;
    }
    if (!got || *got == 0) return Step::close;
    if (exchange_ == nullptr) {
      if (options_ != server_.options_) options_ = server_.options_;
      exchange_ = server_.exchanges_.take();
      exchange_->attach(
          {stream_.get(), tls_, &peer_, options_.get(), &server_.draining_, &server_.stats_.open_tunnels});
    }
    if (!exchange_->has_bytes()) since_ms_ = server_.loop_.now_ms();
    exchange_->take_bytes({scratch.data(), *got});
    const Step step = parse();
    if (step != Step::wait) return step;
  }
}

Connection::Step Connection::parse() {
  const RequestParser::State state = exchange_->parse();
  if (state == RequestParser::State::incomplete) return Step::wait;
  if (state == RequestParser::State::complete) {
    exchange_->begin();
    add_own(server_.stats_.requests);
    add_own(server_.stats_.in_flight);
    return Step::exchange;
  }
  const Refusal refusal = exchange_->refusal();
  refused_status_ = refusal.status;
  add_own(server_.stats_.malformed);
  server_.handler_.refused(refusal.status, refusal.reason);
  return Step::refuse;
}

std::int64_t Connection::wait_deadline() const noexcept {
  const bool idle = exchange_ == nullptr;
  const std::int64_t limit = (idle ? options_->keep_alive_timeout : options_->header_timeout).count();
  const std::int64_t end = limit > 0 ? since_ms_ + limit : 0;
  if (!idle || server_.drains_since_ms_ == 0) return end;
  // Also of those that became idle later: an answer that had begun before said that the connection stays.
  const std::int64_t drained = std::max(since_ms_, server_.drains_since_ms_) + kIdleDrainMs;
  return end == 0 ? drained : std::min(end, drained);
}

Connection::Step Connection::after_wait(Wake wake) {
  if (wake == Wake::ready) return Step::wait;
  if (wake == Wake::canceled) return Step::close;
  if (exchange_ == nullptr) {
    const Step step = read_more();  // a request that came as late as the deadline is answered
    return step == Step::wait && exchange_ == nullptr ? Step::close : step;
  }
  refused_status_ = 408;
  add_own(server_.stats_.malformed);
  server_.handler_.refused(408, "header_timeout");
  return Step::refuse;
}

// After an exchange: true if the connection goes on.
bool Connection::prepare_next() {
  add_own(server_.stats_.in_flight, -1);
  if (killed_ || !exchange_->may_persist()) return false;
  exchange_->next();
  since_ms_ = server_.loop_.now_ms();
  if (!exchange_->has_bytes()) put_exchange_away();
  return true;
}

void Connection::release_exchange() noexcept {
  if (exchange_ == nullptr) return;
  exchange_->next();
  put_exchange_away();
}

void Connection::put_exchange_away() noexcept {
  exchange_->detach();
  server_.exchanges_.give_back(std::move(exchange_));
}

}  // namespace weir::http
