// SPDX-License-Identifier: Apache-2.0
// The relay's life and the request's way; the answer's way is in relay_answer.cpp.
#include "upstream/relay.hpp"

#include <algorithm>

#include "base/stopwatch.hpp"
#include "http/chunk_encoder.hpp"
#include "upstream/trailers.hpp"
#include "upstream/upgrade.hpp"
#include "weir/http/error.hpp"

namespace weir::upstream {

using boost::asio::awaitable;
using http::BodyKind;
using net::Interest;
using net::Wake;

namespace {

constexpr int kMovesPerTurn = 16;  // of 64 KiB at most, before other relays get a turn

void shrink(std::string& buffer, std::size_t kept) noexcept {
  buffer.clear();
  if (buffer.capacity() > kept) std::string().swap(buffer);
}

}  // namespace

Relay::Relay(net::EventLoop& loop)
    : loop_(loop),
      total_timer_(loop.wheel(), [](void* self) { static_cast<Relay*>(self)->on_total_timer(); }, this) {}

void Relay::begin(http::Exchange& exchange, const ForwardPlan& plan, const ClusterOptions& options,
                  std::string_view fallback_host) {
  exchange_ = &exchange;
  plan_ = &plan;
  options_ = &options;
  upgrade_ = wanted_upgrade(exchange.request(), options.upgrades);
  append_request_head(out_, exchange.request(), plan, {fallback_host, upgrade_});
  const auto total = plan.terms == Terms::core ? options.core_total_timeout : options.total_timeout;
  if (total.count() > 0) total_timer_.arm(loop_.now_ms() + total.count());
  on_body_piece(exchange.take_buffered_body());
  exchange.set_canceller({[](void* self) { static_cast<Relay*>(self)->on_client_gone(); }, this});
}

void Relay::end() noexcept {
  if (exchange_ != nullptr) exchange_->clear_canceller();
  total_timer_.rest();
  exchange_ = nullptr;
  plan_ = nullptr;
  options_ = nullptr;
  stream_ = nullptr;
  waiter_ = nullptr;
  judge_ = {};
  shrink(out_, kKeptBytes);
  shrink(partial_, kKeptBytes);
  interim_.clear();
  fields_.clear();
  trailers_.clear();
  upgrade_ = {};
  out_sent_ = 0;
  parser_.reset();
  body_ = {};
  cost_ = {};
  body_error_ = {};
  sent_us_ = sent_ms_ = response_us_ = 0;
  interims_ = moves_in_turn_ = 0;
  error_ = ForwardError::none;
  replayable_ = true;
  wrote_ = answered_ = head_done_ = response_done_ = upload_done_ = upload_stopped_ = false;
  switched_ = stray_bytes_ = canceled_ = timed_out_ = unparsed_ = false;
}

awaitable<ForwardError> Relay::run() {
  stream_->observe(
      {[](void* exchange) { static_cast<http::Exchange*>(exchange)->interrupt_body(); }, exchange_});
  for (Step step = next_step(); step != Step::finished; step = next_step()) {
    if (step == Step::upstream) {
      const Interest interest = out_sent_ < out_.size() ? Interest::either : Interest::read;
      const std::int64_t until = upstream_deadline();
      const Wake wake = co_await stream_->wait(interest, until);
      on_wake(wake);
      moves_in_turn_ = 0;
    } else if (step == Step::body) {
      const Result<std::string_view> piece = co_await exchange_->read_body();
      on_body_piece(piece);
    } else if (step == Step::interim) {
      const Result<void> sent = co_await exchange_->send_interim(interim_);
      interim_.clear();
      if (!sent) fail(ForwardError::client_gone);
    } else if (step == Step::tunnel) {
      total_timer_.rest();
      net::Stream& wire = *stream_;
      const http::Exchange::Switch to{upgrade_, fields_, partial_};
      const http::Ending ending = co_await exchange_->tunnel(to, wire);
      on_tunnel_end(ending);
      break;
    } else {
      const Result<bool> sent = exchange_->flush_now();
      if (!sent) fail(ForwardError::client_gone);
      if (sent && !*sent) {
        const Result<void> rest = co_await exchange_->flush();
        if (!rest) fail(ForwardError::client_gone);
      }
      if (response_done_) break;
      if (++moves_in_turn_ < kMovesPerTurn) continue;
      moves_in_turn_ = 0;
      co_await loop_.yield();
    }
  }
  stream_->clear_observer();
  co_return error_;
}

Relay::Step Relay::next_step() {
  while (error_ == ForwardError::none) {
    if (canceled_) {
      fail(why_canceled());
    } else if (switched_) {
      return Step::tunnel;
    } else if (!interim_.empty()) {
      return Step::interim;
    } else if (unparsed_) {
      unparsed_ = false;
      take_response_bytes(nullptr, 0);
      if (head_done_ && !switched_) return Step::flush;
    } else if (stream_->may_read() && read_response()) {
      if (head_done_ && !switched_ && error_ == ForwardError::none) return Step::flush;
    } else {
      write_request();
      const bool wants_body = out_sent_ == out_.size() && !upload_done_ && !upload_stopped_;
      return wants_body ? Step::body : Step::upstream;
    }
  }
  return Step::finished;
}

void Relay::write_request() {
  if (upload_stopped_ || out_sent_ >= out_.size()) return;
  const std::string_view rest = std::string_view(out_).substr(out_sent_);
  const auto taken = upload_done_ ? stream_->try_write_soon(rest) : stream_->try_write(rest);
  if (!taken) {
    // The answer may have been sent before the upstream closed: read on, send no more.
    upload_stopped_ = true;
    out_sent_ = out_.size();
    return;
  }
  wrote_ = wrote_ || *taken > 0;
  out_sent_ += *taken;
  if (request_is_sent() && sent_us_ == 0) {
    sent_us_ = monotonic_us();
    sent_ms_ = loop_.now_ms();
  }
}

void Relay::on_body_piece(const Result<std::string_view>& piece) {
  if (!piece) {
    if (piece.error() == http::Error::interrupted) return;
    body_error_ = piece.error();
    return fail(exchange_->client_gone() ? ForwardError::client_gone : ForwardError::body_refused);
  }
  if (out_sent_ > 0 && out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
    replayable_ = false;
  }
  const bool chunked = exchange_->request().framing.kind == BodyKind::chunked;
  if (chunked) {
    http::append_chunk(out_, *piece);
  } else {
    out_ += *piece;
  }
  if (!exchange_->body_complete() || upload_done_) return;
  upload_done_ = true;
  if (!chunked) return;
  trailers_.clear();
  append_trailers(trailers_, exchange_->request_trailers(), options_->trailers);
  http::append_last_chunk(out_, trailers_);
  trailers_.clear();
}

void Relay::on_wake(Wake wake) noexcept {
  if (wake == Wake::canceled) return fail(why_canceled());
  if (wake == Wake::timed_out) fail(ForwardError::response_timeout);
}

void Relay::fail(ForwardError error) noexcept {
  if (error_ == ForwardError::none) error_ = error;
}

std::int64_t Relay::deadline(std::chrono::milliseconds limit) const noexcept {
  const std::int64_t own = limit.count() > 0 ? loop_.now_ms() + limit.count() : 0;
  const std::int64_t total = total_timer_.deadline_ms();
  if (own == 0 || total == 0) return std::max(own, total);
  return std::min(own, total);
}

std::int64_t Relay::upstream_deadline() const noexcept {
  const bool awaits_head = !head_done_ && request_is_sent();
  if (!awaits_head) return deadline(options_->idle_timeout);
  // Interim responses do not extend the time to the final one.
  const std::int64_t total = total_timer_.deadline_ms();
  if (options_->response_timeout.count() == 0) return total;
  const std::int64_t own = sent_ms_ + options_->response_timeout.count();
  return total == 0 ? own : std::min(own, total);
}

ForwardError Relay::why_canceled() const noexcept {
  if (exchange_->client_gone()) return ForwardError::client_gone;
  const bool late = timed_out_ || exchange_->ending() == http::Ending::timed_out;
  return late ? ForwardError::response_timeout : ForwardError::reset;
}

void Relay::on_client_gone() {
  cancel();
}

void Relay::on_total_timer() {
  timed_out_ = true;
  cancel();
}

// Only one of the two can be waited for. Waking may run this relay to its end, and begin its next use, before
// the call returns: nothing is touched after it.
void Relay::cancel() {
  canceled_ = true;
  if (waiter_ != nullptr) return waiter_->wake(Wake::canceled);
  if (stream_ == nullptr) return;
  const bool waits_here = stream_->waiting();
  http::Exchange* exchange = exchange_;
  stream_->cancel();
  if (!waits_here) exchange->interrupt_body();
}

bool Relay::may_repeat() const noexcept {
  const std::int64_t total = total_timer_.deadline_ms();
  const bool late = total != 0 && loop_.now_ms() >= total;
  if (head_done_ || canceled_ || late || !replayable_) return false;
  return !wrote_ || is_idempotent();
}

bool Relay::is_idempotent() const noexcept {
  using http::Method;
  const Method method = exchange_->request().method;
  return method == Method::get || method == Method::head || method == Method::put ||
         method == Method::delete_ || method == Method::options;
}

void Relay::rewind() noexcept {
  error_ = ForwardError::none;
  out_sent_ = 0;
  sent_us_ = sent_ms_ = 0;
  wrote_ = answered_ = upload_stopped_ = unparsed_ = false;
  partial_.clear();
  parser_.reset();
  stream_ = nullptr;
  judge_ = {};
}

bool Relay::connection_is_clean() const noexcept {
  return error_ == ForwardError::none && response_done_ && upgrade_.empty() && head_.keep_alive &&
         request_is_sent() && !upload_stopped_ && !stray_bytes_ && body_.kind() != BodyKind::until_close;
}

}  // namespace weir::upstream
