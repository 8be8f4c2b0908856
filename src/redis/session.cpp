// SPDX-License-Identifier: Apache-2.0
// The life of a connection: connect, greet, read until the session ends, pause, and again.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "redis/connection.hpp"
#include "redis/resp.hpp"

namespace weir::redis {
namespace {

using boost::asio::use_awaitable;
using boost::asio::generic::stream_protocol;
using boost::asio::ip::tcp;

}  // namespace

void Connection::begin() {
  // The coroutine's frame keeps the connection alive until close().
  boost::asio::co_spawn(executor_, live(shared_from_this()), boost::asio::detached);
  if (options_.finder != nullptr)
    boost::asio::co_spawn(executor_, follow(shared_from_this()), boost::asio::detached);
}

boost::asio::awaitable<void> Connection::live(std::shared_ptr<Connection> self) {
  while (self->state_ != State::closed) {
    const bool opened = co_await self->open();
    if (opened) co_await self->read();
    if (self->state_ == State::closed) break;
    co_await self->pause();
  }
}

// Resolves and connects; then the greeting is on its way.
boost::asio::awaitable<bool> Connection::open() {
  connect_deadline_ = std::chrono::steady_clock::now() + options_.connect_timeout;
  if (options_.finder != nullptr) {
    const bool found = co_await find();
    if (!found) co_return false;
  }
  if (!options_.unix_path.empty()) {
    const boost::asio::local::stream_protocol::endpoint path(options_.unix_path);
    co_return co_await connect(stream_protocol::endpoint(path));
  }
  error_code error;
  const auto address = boost::asio::ip::make_address(options_.host, error);
  if (!error) co_return co_await connect(stream_protocol::endpoint(tcp::endpoint(address, options_.port)));
  auto token = boost::asio::redirect_error(use_awaitable, error);
  const std::string port = std::to_string(options_.port);
  const auto found = co_await resolver_.async_resolve(options_.host, port, token);
  if (error || found.empty()) {
    note_failure(ErrorKind::unavailable);
    co_return false;
  }
  for (const auto& entry : found) {
    const stream_protocol::endpoint where(entry.endpoint());
    const bool connected = co_await connect(where);
    if (connected) co_return true;
  }
  co_return false;
}

// The primary of this moment becomes the host to connect to.
boost::asio::awaitable<bool> Connection::find() {
  const auto finder = options_.finder;
  Result<Address> found = co_await finder->find(connect_deadline_);
  if (state_ == State::closed) co_return false;
  if (!found) {
    note_failure(ErrorKind::unavailable);
    co_return false;
  }
  options_.host = std::move(found->host);
  options_.port = found->port;
  connect_deadline_ = std::chrono::steady_clock::now() + options_.connect_timeout;
  co_return true;
}

// Leaves a primary that is none any more, as if it had said so itself.
boost::asio::awaitable<void> Connection::follow(std::shared_ptr<Connection> self) {
  const auto finder = self->options_.finder;
  const auto every = self->options_.follow_every;
  std::uniform_int_distribution<std::int64_t> jitter(0, every.count() / 4);
  error_code ignored;
  auto token = boost::asio::redirect_error(use_awaitable, ignored);
  while (self->state_ != State::closed) {
    self->follow_timer_.expires_after(every + std::chrono::milliseconds(jitter(self->jitter_)));
    co_await self->follow_timer_.async_wait(token);
    if (self->state_ != State::ready) continue;
    const std::uint64_t session = self->session_;
    const TimePoint deadline = std::chrono::steady_clock::now() + self->options_.connect_timeout;
    const Result<Address> found = co_await finder->find(deadline);
    if (!found || self->session_ != session || self->state_ != State::ready) continue;
    const Address here{self->options_.host, self->options_.port};
    if (!(*found == here)) self->end_session(ErrorKind::readonly);
  }
}

boost::asio::awaitable<bool> Connection::connect(stream_protocol::endpoint where) {
  if (state_ == State::closed) co_return false;
  error_code error;
  socket_.open(where.protocol(), error);
  if (error) {
    note_failure(ErrorKind::unavailable);
    co_return false;
  }
  state_ = State::greeting;
  watch();
  const std::uint64_t session = session_;
  auto token = boost::asio::redirect_error(use_awaitable, error);
  co_await socket_.async_connect(where, token);
  if (session != session_ || state_ != State::greeting) co_return false;
  if (error) {
    end_session(ErrorKind::unavailable);
    co_return false;
  }
  socket_.non_blocking(true, error);
  if (where.protocol().family() != AF_UNIX) {
    socket_.set_option(tcp::no_delay(true), error);
    socket_.set_option(boost::asio::socket_base::keep_alive(true), error);
  }
  if (options_.tls != nullptr) {
    const bool secured = co_await secure();
    if (!secured) co_return false;
  }
  greet();
  co_return true;
}

// The handshake; nothing of ours is sent before the server has shown who it is.
boost::asio::awaitable<bool> Connection::secure() {
  const std::uint64_t session = session_;
  error_code error;
  auto token = boost::asio::redirect_error(use_awaitable, error);
  auto tls = options_.tls->open(options_.host);
  if (tls == nullptr) co_return refuse_session();
  tls_.emplace(std::move(tls));
  const auto buffer = boost::asio::buffer(input_);
  std::string record;
  while (true) {
    const auto progress = tls_->handshake();
    record.clear();
    tls_->take_output(record);
    if (!record.empty()) {
      const auto bytes = boost::asio::buffer(record);
      co_await boost::asio::async_write(socket_, bytes, token);
    }
    if (session != session_) co_return false;
    if (error || progress == TlsLayer::Progress::failed) co_return refuse_session();
    if (progress == TlsLayer::Progress::done) co_return true;
    const std::size_t size = co_await socket_.async_read_some(buffer, token);
    if (session != session_) co_return false;
    if (error || !tls_->received({input_.data(), size})) co_return refuse_session();
  }
}

bool Connection::refuse_session() {
  end_session(options_.tls != nullptr ? ErrorKind::tls : ErrorKind::unavailable);
  return false;
}

void Connection::greet() {
  reader_ = std::make_unique<ReplyReader>(options_.max_reply_bytes);
  output_.clear();
  if (!options_.password.empty() && options_.username.empty()) {
    append_command(output_, {"AUTH", options_.password});
    ++greetings_left_;
  } else if (!options_.password.empty()) {
    append_command(output_, {"AUTH", options_.username, options_.password});
    ++greetings_left_;
  }
  if (options_.database != 0) {
    append_command(output_, {"SELECT", std::to_string(options_.database)});
    ++greetings_left_;
  }
  append_command(output_, {"PING"});
  ++greetings_left_;
  waiting_.insert(waiting_.end(), static_cast<std::size_t>(greetings_left_), {nullptr, connect_deadline_});
  flush();
}

// A reply to our own greeting or ping.
void Connection::greeted(const Reply& reply) {
  if (reply.type != Reply::Type::status) {
    const bool refused = reply.type == Reply::Type::error;
    return end_session(refused ? classify(reply.text) : ErrorKind::protocol);
  }
  if (state_ != State::greeting || --greetings_left_ > 0) return;
  state_ = State::ready;
  stats_.connects.fetch_add(1, std::memory_order_relaxed);
  stats_.ready.store(true, std::memory_order_relaxed);
  became_ready_ = idle_since_ = std::chrono::steady_clock::now();
  watch();
  if (options_.on_ready) options_.on_ready(shared_from_this());
}

void Connection::ping(TimePoint now) {
  waiting_.push_back({nullptr, now + options_.connect_timeout});
  idle_since_ = now;
  append_command(output_, {"PING"});
  schedule_flush();
}

boost::asio::awaitable<void> Connection::read() {
  const std::uint64_t session = session_;
  error_code error;
  auto token = boost::asio::redirect_error(use_awaitable, error);
  const auto buffer = boost::asio::buffer(input_);
  Reply reply;
  while (session == session_) {
    const std::size_t bytes = co_await socket_.async_read_some(buffer, token);
    if (session != session_) co_return;
    if (error) co_return end_session(ErrorKind::unavailable);
    if (!digest({input_.data(), bytes})) co_return end_session(ErrorKind::protocol);
    if (session != session_) co_return;
    idle_since_ = std::chrono::steady_clock::now();
    while (session == session_) {
      const auto progress = reader_->next(reply);
      if (progress == ReplyReader::Progress::broken) co_return end_session(ErrorKind::protocol);
      if (progress == ReplyReader::Progress::partial || !deliver(std::move(reply))) break;
    }
  }
}

// What came off the wire, decrypted if need be, goes to the reader. False: it cannot be RESP, or TLS.
bool Connection::digest(std::string_view bytes) {
  if (!tls_) return !reader_->feed(bytes);
  if (!tls_->received(bytes)) return false;
  std::array<char, 4096> clear;
  while (true) {
    std::size_t size = 0;
    const auto progress = tls_->decrypt(clear, size);
    if (progress == TlsLayer::Progress::failed) return false;
    if (progress == TlsLayer::Progress::wants_more) return true;
    if (reader_->feed({clear.data(), size})) return false;
  }
}

// Doubling, with jitter, so that a fleet does not come back in one moment.
boost::asio::awaitable<void> Connection::pause() {
  const auto shift = std::min(attempts_, 16U);
  const auto longest = std::min(options_.backoff_max, options_.backoff_min * (1 << shift));
  ++attempts_;
  std::uniform_int_distribution<std::int64_t> pick(longest.count() / 2, longest.count());
  pause_timer_.expires_after(std::chrono::milliseconds(pick(jitter_)));
  error_code ignored;
  auto token = boost::asio::redirect_error(use_awaitable, ignored);
  co_await pause_timer_.async_wait(token);
}

// Polls: it is for start-up and tests, where a millisecond does not matter.
boost::asio::awaitable<bool> Connection::wait_ready(TimePoint deadline) {
  const auto self = shared_from_this();
  Timer timer(executor_);
  error_code ignored;
  auto token = boost::asio::redirect_error(use_awaitable, ignored);
  while (!ready() && std::chrono::steady_clock::now() < deadline) {
    timer.expires_after(std::chrono::milliseconds(1));
    co_await timer.async_wait(token);
  }
  co_return ready();
}

}  // namespace weir::redis
