// SPDX-License-Identifier: Apache-2.0
// The request side, and the life between requests. The response side is in server_exchange_reply.cpp.
#include "http/server_exchange.hpp"

#include <algorithm>
#include <cstring>

#include "net/tls_stream.hpp"

namespace weir::http {

using boost::asio::awaitable;
using net::Interest;
using net::Wake;

ServerExchange::ServerExchange(net::EventLoop& loop, ExchangePool& pool)
    : loop_(loop),
      pool_(pool),
      half_close_timer_(
          loop.wheel(), [](void* self) { static_cast<ServerExchange*>(self)->on_half_close_timer(); }, this),
      total_timer_(
          loop.wheel(), [](void* self) { static_cast<ServerExchange*>(self)->on_total_timer(); }, this) {}

RequestParser::State ServerExchange::parse() {
  return parser_.parse(in_, *downstream_.options, head_);
}

void ServerExchange::begin() {
  in_used_ = parser_.head_end();
  body_ = BodyReader(head_.framing);
  body_.collect_trailers(&trailers_);
  const ServerOptions& options = *downstream_.options;
  pace_.begin(options.body_min_rate, std::max(options.body_rate_window, options.body_idle_timeout).count());
  const auto send_window = std::max(options.body_rate_window, options.write_timeout).count();
  send_pace_.begin(options.write_timeout.count(), options.response_min_rate, send_window);
  wants_continue_ = head_.expects_continue;
  started_ms_ = loop_.now_ms();
  writer_.begin({head_.method, head_.version_minor});
  const auto total = options.total_timeout.count();
  total_deadline_ms_ = total > 0 ? started_ms_ + total : 0;
  total_timer_.arm(total_deadline_ms_);
}

void ServerExchange::next() noexcept {
  if (block_ != nullptr) {
    // A chunked body may have ended within the block: what follows is the next request.
    in_.assign(block_.get() + block_used_, block_size_ - block_used_);
    pool_.give_back(std::move(block_));
  } else {
    in_.erase(0, in_used_);
  }
  in_used_ = block_used_ = block_size_ = 0;
  parser_.reset();
  body_ = {};
  body_error_ = {};
  received_ = tunnel_sent_ = 0;
  canceller_ = {};
  half_close_timer_.rest();
  total_timer_.rest();
  total_deadline_ms_ = 0;
  ending_ = Ending::complete;
  waits_for_body_ = interrupted_ = wants_continue_ = client_gone_ = aborted_ = tunneled_ = false;
  writer_.release();
  writer_.begin({});
  arena_.release();
  trailers_.clear();
}

void ServerExchange::detach() noexcept {
  in_.clear();
  if (in_.capacity() > kKeptBytes) std::string().swap(in_);
  downstream_ = {};
}

std::string_view ServerExchange::tls_version() const noexcept {
  return secure() ? net::tls_version_name(downstream_.tls->version()) : std::string_view();
}

const net::TlsPeer* ServerExchange::client_certificate() const noexcept {
  return secure() ? downstream_.tls->peer() : nullptr;
}

std::string_view ServerExchange::keep(std::string_view text) {
  if (text.empty()) return {};
  auto* copy = static_cast<char*>(arena_.allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

std::int64_t ServerExchange::deadline(std::chrono::milliseconds limit) const noexcept {
  const std::int64_t own = limit.count() > 0 ? loop_.now_ms() + limit.count() : 0;
  if (own == 0 || total_deadline_ms_ == 0) return std::max(own, total_deadline_ms_);
  return std::min(own, total_deadline_ms_);
}

bool ServerExchange::total_time_is_over() const noexcept {
  return total_deadline_ms_ != 0 && loop_.now_ms() >= total_deadline_ms_;
}

error_code ServerExchange::fail_body(Error error) noexcept {
  body_error_ = error;
  return body_error_;
}

Result<std::string_view> ServerExchange::decode(char* data, std::size_t size, std::size_t& consumed) {
  const BodyReader::Piece piece = body_.feed(data, size);
  consumed = piece.consumed;
  if (body_.broken()) return fail_body(Error::malformed_body);
  received_ += piece.bytes.size();
  pace_.got(piece.bytes.size());
  if (received_ > downstream_.options->body_bytes) return fail_body(Error::body_too_large);
  return piece.bytes;
}

Result<std::string_view> ServerExchange::take_buffered_body() {
  if (body_error_) return body_error_;
  if (body_.done() || in_used_ >= in_.size()) return std::string_view{};
  std::size_t consumed = 0;
  const auto piece = decode(in_.data() + in_used_, in_.size() - in_used_, consumed);
  in_used_ += consumed;
  return piece;
}

// The next body bytes without waiting; an empty view is the end, would_block says to wait.
Result<std::string_view> ServerExchange::try_body() {
  const auto buffered = take_buffered_body();
  if (!buffered || !buffered->empty() || body_.done()) return buffered;
  if (block_ == nullptr) block_ = pool_.take_block();
  for (;;) {
    block_used_ = block_size_ = 0;
    const std::span<char> room(block_.get(), body_.wanted(ExchangePool::kBlockBytes));
    const auto got = downstream_.stream->try_read(room);
    if (!got && net::would_block(got.error())) return got.error();
    if (!got) {
      lose_client();
      return fail_body(Error::client_gone);
    }
    if (*got == 0) return fail_body(Error::malformed_body);
    block_size_ = *got;
    const auto piece = decode(block_.get(), block_size_, block_used_);
    if (!piece || !piece->empty() || body_.done()) return piece;
  }
}

awaitable<Result<std::string_view>> ServerExchange::read_body() {
  std::int64_t idle_since_ms = 0;
  for (;;) {
    const Result<std::string_view> piece = try_body();
    if (piece || !net::would_block(piece.error())) co_return piece;
    send_continue();
    if (block_ != nullptr) pool_.give_back(std::move(block_));  // thousands may be waited for
    const std::int64_t began_ms = loop_.now_ms();
    if (idle_since_ms == 0) idle_since_ms = began_ms;
    const std::int64_t until = body_deadline(idle_since_ms);
    waits_for_body_ = true;
    Wake wake = co_await downstream_.stream->wait(Interest::read, until);
    waits_for_body_ = false;
    pace_.waited(loop_.now_ms() - began_ms);
    if (wake != Wake::canceled) wake = judge_wait(wake, idle_since_ms);
    if (interrupted_) {
      interrupted_ = false;
      co_return Error::interrupted;
    }
    if (wake == Wake::canceled) {
      lose_client();
      co_return fail_body(Error::client_gone);
    }
    if (wake == Wake::timed_out) {
      ending_ = Ending::timed_out;
      co_return fail_body(total_time_is_over() ? Error::total_timeout : Error::body_timeout);
    }
  }
}

std::int64_t ServerExchange::body_deadline(std::int64_t idle_since_ms) const noexcept {
  const auto idle = downstream_.options->body_idle_timeout.count();
  const std::int64_t ends[] = {idle > 0 ? idle_since_ms + idle : 0, total_deadline_ms_,
                               pace_.judges() ? loop_.now_ms() + pace_.left_ms() : 0};
  std::int64_t first = 0;
  for (const std::int64_t end : ends) {
    if (end != 0 && (first == 0 || end < first)) first = end;
  }
  return first;
}

// What the end of a wait for body bytes means once the body's pace is considered.
Wake ServerExchange::judge_wait(Wake wake, std::int64_t idle_since_ms) noexcept {
  if (pace_.too_slow()) return Wake::timed_out;
  if (wake != Wake::timed_out) return wake;
  const auto idle = downstream_.options->body_idle_timeout.count();
  const bool is_idle = idle > 0 && loop_.now_ms() - idle_since_ms >= idle;
  return is_idle || total_time_is_over() ? Wake::timed_out : Wake::ready;
}

void ServerExchange::interrupt_body() {
  if (tunnel_ != nullptr) return tunnel_->stop();
  if (!waits_for_body_) return;
  interrupted_ = true;
  downstream_.stream->nudge();
}

// A client that waits for "100 Continue" has an empty send direction, so these few bytes always fit.
void ServerExchange::send_continue() noexcept {
  if (!wants_continue_) return;
  wants_continue_ = false;
  if (received_ > 0 || response_started()) return;
  (void)downstream_.stream->try_write("HTTP/1.1 100 Continue\r\n\r\n");
}

void ServerExchange::lose_client() noexcept {
  if (client_gone_) return;
  client_gone_ = true;
  if (ending_ == Ending::complete) ending_ = Ending::client_gone;
}

void ServerExchange::set_canceller(Canceller canceller) {
  canceller_ = canceller;
  downstream_.stream->observe(
      {[](void* self) { static_cast<ServerExchange*>(self)->on_client_event(); }, this});
  on_client_event();
}

void ServerExchange::clear_canceller() noexcept {
  canceller_ = {};
  half_close_timer_.rest();
  if (downstream_.stream != nullptr) downstream_.stream->clear_observer();
}

void ServerExchange::call_canceller() {
  const Canceller canceller = std::exchange(canceller_, {});
  if (canceller.call != nullptr) canceller.call(canceller.context);
}

void ServerExchange::on_client_event() {
  if (downstream_.stream->broken()) {
    lose_client();
    call_canceller();
  } else if (downstream_.stream->peer_ended() && half_close_timer_.deadline_ms() == 0) {
    half_close_timer_.arm(loop_.now_ms() + kHalfCloseGraceMs);
  }
}

void ServerExchange::on_half_close_timer() {
  // Once bytes of the response flow, writing them tells whether the client is still there.
  if (canceller_.call == nullptr || response_started()) return;
  lose_client();
  call_canceller();
}

void ServerExchange::on_total_timer() {
  ending_ = Ending::timed_out;
  call_canceller();
}

}  // namespace weir::http
