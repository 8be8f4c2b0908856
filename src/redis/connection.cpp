// SPDX-License-Identifier: Apache-2.0
// Sending, delivering and deadlines. The life of a session (connect, greet, read, pause) is in session.cpp.
#include "redis/connection.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>

namespace weir::redis {

std::shared_ptr<Connection> Connection::start(Executor executor, ConnectionOptions options) {
  auto connection = std::make_shared<Connection>(executor, std::move(options));
  connection->begin();
  return connection;
}

Connection::Connection(Executor executor, ConnectionOptions options)
    : executor_(executor),
      options_(std::move(options)),
      socket_(executor),
      resolver_(executor),
      watch_timer_(executor),
      pause_timer_(executor),
      follow_timer_(executor),
      jitter_(std::random_device{}()) {}

Connection::~Connection() {
  for (const Waiting& waiting : waiting_) {
    if (waiting.call != nullptr) waiting.call->drop();
  }
}

// ---------------------------------------------------------------------------------------------- sending

bool Connection::accept(PendingCall* call, std::string_view request, TimePoint deadline) {
  if (state_ != State::ready || waiting_.size() >= options_.max_pending) return false;
  // If this call times out then so do all before it: deadlines never fall along the queue.
  for (auto earlier = waiting_.rbegin(); earlier != waiting_.rend(); ++earlier) {
    if (earlier->deadline <= deadline) break;
    earlier->deadline = deadline;
  }
  waiting_.push_back({call, deadline});
  output_.append(request);
  ++sent_;
  schedule_flush();
  watch();
  return true;
}

// Never from inside the call itself: a completion has to come later than the start.
void Connection::refuse(PendingCall* call) {
  const ErrorKind reason = ready() ? ErrorKind::unavailable : down_reason_;
  const auto drop = [](PendingCall* dropped) { dropped->drop(); };
  std::unique_ptr<PendingCall, decltype(drop)> owned(call, drop);
  boost::asio::post(executor_, [owned = std::move(owned), reason]() mutable {
    owned.release()->finish(make_error_code(reason));
  });
}

// After the handlers that are ready now: their requests leave together.
void Connection::schedule_flush() {
  if (flush_posted_ || writing_) return;
  flush_posted_ = true;
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

void Connection::flush() {
  if (writing_ || output_.empty() || !socket_.is_open()) return;
  outgoing_.clear();
  if (!tls_) {
    outgoing_.swap(output_);
  } else {
    const bool sealed = tls_->encrypt(output_);
    output_.clear();
    if (!sealed) return end_session(ErrorKind::unavailable);
    tls_->take_output(outgoing_);  // with what TLS itself has to say
  }
  error_code error;
  written_ = socket_.write_some(boost::asio::buffer(outgoing_), error);
  if (error && error != boost::asio::error::would_block) return end_session(ErrorKind::unavailable);
  if (written_ < outgoing_.size()) write_rest();
}

void Connection::write_rest() {
  writing_ = true;
  const auto rest = boost::asio::buffer(outgoing_) + written_;
  socket_.async_write_some(
      rest, [self = shared_from_this(), session = session_](error_code error, std::size_t bytes) {
        if (session != self->session_) return;
        self->writing_ = false;
        if (error) return self->end_session(ErrorKind::unavailable);
        self->written_ += bytes;
        if (self->written_ < self->outgoing_.size()) return self->write_rest();
        self->flush();
      });
}

// ------------------------------------------------------------------------------------------- delivering

// False: the session has ended.
bool Connection::deliver(Reply&& reply) {
  if (waiting_.empty()) {
    end_session(ErrorKind::protocol);
    return false;
  }
  const std::uint64_t session = session_;
  PendingCall* call = waiting_.front().call;
  waiting_.pop_front();
  const bool is_error = reply.type == Reply::Type::error;
  const ErrorKind kind = is_error ? classify(reply.text) : ErrorKind::other;
  const bool redirects = kind == ErrorKind::moved || kind == ErrorKind::ask;
  if (redirects && options_.on_redirect) options_.on_redirect(reply.text);
  if (call == nullptr) {
    greeted(reply);
  } else if (is_error) {
    call->finish(make_error_code(kind));
  } else {
    attempts_ = 0;
    call->finish(std::move(reply));
  }
  // A replica where the primary was: only a new connection may find the primary again.
  if (is_error && kind == ErrorKind::readonly && session == session_) end_session(ErrorKind::readonly);
  return session == session_;
}

void Connection::distrust() {
  if (state_ == State::ready) end_session(ErrorKind::protocol);
}

void Connection::note_failure(ErrorKind reason) {
  // A call that is not even sent did not time out, whatever ended the session before it.
  down_reason_ = reason == ErrorKind::timeout ? ErrorKind::unavailable : reason;
  stats_.ready.store(false, std::memory_order_relaxed);
  stats_.last_error.store(static_cast<int>(reason), std::memory_order_relaxed);
  stats_.disconnects.fetch_add(1, std::memory_order_relaxed);
}

void Connection::end_session(ErrorKind reason) {
  if (state_ == State::closed || !socket_.is_open()) return;
  ++session_;
  state_ = State::down;
  note_failure(reason);
  error_code ignored;
  socket_.close(ignored);
  tls_.reset();
  output_.clear();
  writing_ = false;
  greetings_left_ = 0;
  std::deque<Waiting> failed;
  failed.swap(waiting_);
  for (const Waiting& waiting : failed) {
    if (waiting.call != nullptr) waiting.call->finish(make_error_code(reason));
  }
}

void Connection::close() {
  if (state_ == State::closed) return;
  end_session(ErrorKind::unavailable);
  state_ = State::closed;
  down_reason_ = ErrorKind::unavailable;
  resolver_.cancel();
  watch_timer_.cancel();
  pause_timer_.cancel();
  follow_timer_.cancel();
  if (options_.finder != nullptr) options_.finder->close();
}

// -------------------------------------------------------------------------------------------- deadlines

TimePoint Connection::next_deadline() const {
  if (state_ == State::down || state_ == State::closed) return TimePoint::max();
  if (state_ == State::greeting) return connect_deadline_;
  return waiting_.empty() ? idle_since_ + options_.idle_ping : waiting_.front().deadline;
}

// One timer serves the oldest call. It is moved only to an earlier time; when it fires it looks again.
void Connection::watch() {
  const TimePoint next = next_deadline();
  if (next >= watched_) return;
  watched_ = next;
  watch_timer_.expires_at(next);
  watch_timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->on_watch();
  });
}

void Connection::on_watch() {
  watched_ = TimePoint::max();
  const auto now = std::chrono::steady_clock::now();
  if (next_deadline() <= now) {
    if (state_ == State::greeting || !waiting_.empty()) return end_session(ErrorKind::timeout);
    ping(now);
  }
  watch();
}

}  // namespace weir::redis
