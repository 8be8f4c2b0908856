// SPDX-License-Identifier: Apache-2.0
// The response side of ServerExchange: replies, streaming, and leaving a connection in order.
#include <array>

#include "http/date.hpp"
#include "http/local_reply.hpp"
#include "http/server_exchange.hpp"
#include "weir/base/append.hpp"

namespace weir::http {

using boost::asio::awaitable;
using net::Interest;
using net::Wake;
using Persistence = ResponseWriter::Persistence;

// The connection may be kept only if the client wants it and the end of its request is in sight.
Persistence ServerExchange::persistence_now() const noexcept {
  if (!head_.keep_alive || *downstream_.draining || body_error_) return Persistence::close;
  if (body_.done()) return Persistence::keep_alive;
  const bool short_rest =
      body_.kind() == BodyKind::length && body_.left() <= kDrainedBytes && !wants_continue_;
  return short_rest ? Persistence::keep_alive : Persistence::close;
}

void ServerExchange::build_reply(int status, const LocalReply& reply, Persistence wanted) {
  reply_fields_.clear();
  const std::string_view date = date_line(loop_.wall_ms());
  if (reply.body.empty()) {
    append(reply_fields_, date, reply.field_lines);
  } else {
    append(reply_fields_, date, "Content-Type: ", reply.content_type, "\r\n", reply.field_lines);
  }
  const Framing framing{BodyKind::length, reply.body.size()};
  persistence_ = writer_.start(status, reason_phrase(status), reply_fields_, framing, wanted);
  writer_.append(reply.body);
  writer_.finish();
}

awaitable<void> ServerExchange::reply(const LocalReply& reply) {
  if (response_started() || aborted_) co_return;
  // What has arrived of the body need not be waited for.
  while (!body_error_ && !body_.done() && in_used_ < in_.size()) (void)take_buffered_body();
  build_reply(reply.status, reply, reply.close ? Persistence::close : persistence_now());
  const Result<bool> sent = flush_now();
  if (sent && !*sent) (void)co_await flush();
}

awaitable<void> ServerExchange::refuse(int status) {
  writer_.begin({});
  body_error_ = Error::malformed_head;
  const std::string body = problem_body(status);
  LocalReply reply;
  reply.content_type = kProblemType;
  reply.body = body;
  build_reply(status, reply, Persistence::close);
  (void)co_await flush();
  if (!client_gone_) co_await linger();
}

awaitable<Result<void>> ServerExchange::send_interim(std::string_view head) {
  if (head_.version_minor == 0 || response_started()) co_return Result<void>();
  wants_continue_ = false;
  writer_.append_interim(head);
  co_return co_await flush();
}

void ServerExchange::start_response(int status, std::string_view reason, std::string_view field_lines,
                                    Framing body) {
  // A rest of the request that is still coming would have to be relayed or dropped: close after this one.
  const bool keep = head_.keep_alive && !*downstream_.draining && body_.done();
  persistence_ =
      writer_.start(status, reason, field_lines, body, keep ? Persistence::keep_alive : Persistence::close);
}

// TLS copies in any case, and makes records of what it gets at once.
void ServerExchange::lend_body(std::string_view bytes) {
  if (bytes.size() < kLentBytes || secure()) return writer_.append(bytes);
  writer_.lend(bytes);
}

Result<std::size_t> ServerExchange::write_now() noexcept {
  net::Stream& stream = *downstream_.stream;
  if (!writer_.lent().empty()) return stream.try_write_both(writer_.pending(), writer_.lent());
  const bool may_wait = writer_.finished() && persistence_ == Persistence::keep_alive;
  return may_wait ? stream.try_write_soon(writer_.pending()) : stream.try_write(writer_.pending());
}

Result<bool> ServerExchange::flush_now() {
  if (writer_.all_sent()) return true;
  const auto taken = write_now();
  if (!taken) {
    writer_.drop_lent();
    lose_client();
    return Error::client_gone;
  }
  writer_.sent(*taken);
  return writer_.all_sent();
}

awaitable<Result<void>> ServerExchange::flush() {
  Wake wake = Wake::ready;
  for (;;) {
    const Result<bool> sent = flush_now();
    if (!sent) co_return sent.error();
    if (*sent) co_return Result<void>();
    const std::int64_t began_ms = loop_.now_ms();
    if (wake == Wake::ready) send_pace_.wrote(began_ms);
    const std::int64_t until = send_deadline();
    wake = co_await downstream_.stream->wait(Interest::write, until);
    send_pace_.waited(loop_.now_ms() - began_ms);
    const bool gone = wake == Wake::canceled;
    if (!gone && !takes_too_long(wake)) continue;
    if (!gone) ending_ = Ending::timed_out;
    lose_client();
    co_return gone ? Error::client_gone : Error::write_timeout;
  }
}

// The first wait of an exchange notes from where its bytes count.
std::int64_t ServerExchange::send_deadline() noexcept {
  if (send_pace_.wants_start()) send_pace_.start(downstream_.stream->acknowledged().value_or(0));
  const std::int64_t own = send_pace_.deadline_ms(loop_.now_ms());
  if (own == 0 || total_deadline_ms_ == 0) return std::max(own, total_deadline_ms_);
  return std::min(own, total_deadline_ms_);
}

bool ServerExchange::takes_too_long(Wake wake) noexcept {
  if (wake == Wake::timed_out && total_time_is_over()) return true;
  const std::int64_t now_ms = loop_.now_ms();
  if (!send_pace_.may_judge(now_ms)) return false;
  const auto acknowledged = downstream_.stream->acknowledged();
  return acknowledged ? send_pace_.too_slow(now_ms, *acknowledged) : wake == Wake::timed_out;
}

void ServerExchange::abort() noexcept {
  if (aborted_) return;
  aborted_ = true;
  if (ending_ == Ending::complete) ending_ = Ending::aborted;
}

bool ServerExchange::settled() const noexcept {
  const bool answered = !aborted_ && !client_gone_ && writer_.finished() && writer_.all_sent();
  if (tunneled_) return answered;
  const bool read = body_.done() && !body_error_;
  // Closing over unread bytes needs care: see linger().
  return answered && read && (persistence_ == Persistence::keep_alive || !downstream_.stream->may_read());
}

awaitable<void> ServerExchange::settle() {
  if (client_gone_) co_return;
  if (aborted_ || !writer_.finished()) {
    // Whatever the framing, a reset cannot be taken for the end of the response.
    if (response_started()) downstream_.stream->reset();
    co_return;
  }
  const Result<void> sent = co_await flush();
  if (!sent) co_return;
  if (persistence_ == Persistence::keep_alive) {
    co_await drain_rest();
  } else if (!body_.done() || body_error_ || downstream_.stream->may_read()) {
    co_await linger();
  }
}

// Reads the short rest of a body whose answer has been sent, so that the next request can be read.
awaitable<void> ServerExchange::drain_rest() {
  const std::int64_t until = deadline(downstream_.options->linger_time);
  while (!body_.done()) {
    const Result<std::string_view> piece = try_body();
    if (piece) continue;
    if (!net::would_block(piece.error())) co_return;
    const Wake wake = co_await downstream_.stream->wait(Interest::read, until);
    if (wake != Wake::ready) co_return;
  }
}

// Closing with unread bytes in the socket would reset the connection and could destroy the answer on its way.
awaitable<void> ServerExchange::linger() {
  net::Stream& stream = *downstream_.stream;
  stream.shutdown_write();
  const std::int64_t until = loop_.now_ms() + downstream_.options->linger_time.count();
  std::size_t dropped = 0;
  while (dropped <= downstream_.options->linger_bytes) {
    const Result<std::size_t> got = stream.try_read(loop_.scratch());
    if (got && *got == 0) co_return;
    if (got) {
      dropped += *got;
      continue;
    }
    if (!net::would_block(got.error())) co_return;
    const Wake wake = co_await stream.wait(Interest::read, until);
    if (wake != Wake::ready) co_return;
  }
}

}  // namespace weir::http
