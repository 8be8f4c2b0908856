// SPDX-License-Identifier: Apache-2.0
// One pipelined connection to one server, made again whenever it breaks.
//
// Calls of one turn of the event loop leave in one send; answers come back in order. Every call has a
// deadline. When the oldest one passes it, when the stream makes no sense, or when the socket fails, the
// connection is closed and everything that waits fails at once: nothing is ever sent a second time, because
// whether it was carried out is unknown.
//
// While there is no connection calls fail immediately, with the reason for which there is none. Attempts are
// made one at a time, with a jittered, doubling pause in between. A new connection counts as ready once it
// has answered AUTH, SELECT and PING, so a server that is still loading is not ready.
//
// Threads: everything happens on the executor's single thread, except stats().
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "net/tls_context.hpp"
#include "redis/error.hpp"
#include "redis/reply.hpp"
#include "redis/tls_layer.hpp"

namespace weir::redis {

using Executor = boost::asio::io_context::executor_type;
using TimePoint = std::chrono::steady_clock::time_point;

struct Address {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

class Connection;

// Asked where to connect to (Sentinel): before each connection, and every second whether it is still there. A
// primary that was replaced need not know it, and would go on counting.
class Finder {
 public:
  virtual ~Finder() = default;
  virtual boost::asio::awaitable<Result<Address>> find(TimePoint deadline) = 0;
  virtual void close() = 0;  // nobody will ask again
};

struct ConnectionOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string unix_path;                             // instead of host and port
  std::shared_ptr<Finder> finder;                    // instead of host and port
  std::shared_ptr<const net::TlsClientContext> tls;  // nullptr: in the clear
  int database = 0;
  std::string username;
  std::string password;                             // never logged
  std::chrono::milliseconds connect_timeout{1000};  // from the first packet to the answer to PING
  std::chrono::milliseconds backoff_min{50};
  std::chrono::milliseconds backoff_max{2000};
  std::chrono::milliseconds follow_every{1000};  // the finder is asked this often, or up to a quarter more
  std::chrono::milliseconds idle_ping{15000};    // an idle connection is probed, so a silent loss is noticed
  std::size_t max_pending = 8192;                // calls without an answer yet; beyond it they fail
  std::size_t max_reply_bytes = 64 * 1024;
  // Told of each MOVED and ASK, before the call that got it ends: what the server said, from that word on.
  std::function<void(std::string_view)> on_redirect;
  // Told each time the connection becomes ready; may call it.
  std::function<void(const std::shared_ptr<Connection>&)> on_ready;
};

// Monotone counts, readable from any thread.
struct ConnectionStats {
  std::atomic<bool> ready{false};
  std::atomic<std::uint64_t> connects{0};     // connections that became ready
  std::atomic<std::uint64_t> disconnects{0};  // connections and attempts that ended in an error
  std::atomic<int> last_error{0};             // an ErrorKind, or 0: why the last one ended
};

// Someone who waits for a reply. finish() or drop() is called exactly once, and ends its life.
class PendingCall {
 public:
  virtual void finish(Result<Reply> reply) = 0;
  virtual void drop() noexcept = 0;  // the connection is destroyed: no answer will come

 protected:
  ~PendingCall() = default;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Begins to connect at once. close() must be called for it to end.
  static std::shared_ptr<Connection> start(Executor executor, ConnectionOptions options);
  Connection(Executor executor, ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Sends one request, already in RESP, and completes with the reply: void(Result<Reply>). An error reply is
  // an error. The bytes are copied before this returns (or, awaited, before the coroutine waits).
  template <class Token>
  auto execute(std::string_view request, TimePoint deadline, Token&& token);

  // True as soon as the connection is ready; false if it is not by `deadline`. For start-up and tests.
  boost::asio::awaitable<bool> wait_ready(TimePoint deadline);

  // The caller got a reply that cannot be the answer to what it asked: the stream has lost its place.
  void distrust();

  // Fails what waits, stops reconnecting. Idempotent.
  void close();

  bool ready() const noexcept { return state_ == State::ready; }
  bool ready_since(TimePoint moment) const noexcept { return ready() && became_ready_ > moment; }
  // Requests sent so far: a position in the pipeline. What is sent later is carried out later.
  std::uint64_t sent() const noexcept { return sent_; }
  const ConnectionStats& stats() const noexcept { return stats_; }
  const ConnectionOptions& options() const noexcept { return options_; }
  Executor executor() const noexcept { return executor_; }

 private:
  enum class State : std::uint8_t { down, greeting, ready, closed };
  using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, Executor>;
  using Timer =
      boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                        boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;
  struct Waiting {
    PendingCall* call;  // nullptr: our own greeting or ping
    TimePoint deadline;
  };

  // session: connect, greet, read until it ends (session.cpp)
  void begin();
  static boost::asio::awaitable<void> live(std::shared_ptr<Connection> self);
  boost::asio::awaitable<bool> open();
  boost::asio::awaitable<bool> find();
  static boost::asio::awaitable<void> follow(std::shared_ptr<Connection> self);
  boost::asio::awaitable<bool> connect(boost::asio::generic::stream_protocol::endpoint where);
  boost::asio::awaitable<bool> secure();
  boost::asio::awaitable<void> read();
  bool digest(std::string_view bytes);
  bool refuse_session();
  boost::asio::awaitable<void> pause();
  void greet();
  void greeted(const Reply& reply);
  void ping(TimePoint now);

  bool deliver(Reply&& reply);
  void note_failure(ErrorKind reason);
  void end_session(ErrorKind reason);

  // sending
  bool accept(PendingCall* call, std::string_view request, TimePoint deadline);
  void refuse(PendingCall* call);
  void schedule_flush();
  void flush();
  void write_rest();

  // deadlines
  TimePoint next_deadline() const;
  void watch();
  void on_watch();

  Executor executor_;
  ConnectionOptions options_;
  Socket socket_;
  std::optional<TlsLayer> tls_;
  boost::asio::ip::basic_resolver<boost::asio::ip::tcp, Executor> resolver_;
  Timer watch_timer_;
  Timer pause_timer_;
  Timer follow_timer_;
  State state_ = State::down;
  ErrorKind down_reason_ = ErrorKind::unavailable;
  std::uint64_t session_ = 0;  // counts; tells a late write completion that its socket is gone
  std::unique_ptr<ReplyReader> reader_;
  std::array<char, 16 * 1024> input_;
  std::string output_;    // not yet handed to the socket
  std::string outgoing_;  // being written
  std::size_t written_ = 0;
  bool writing_ = false;
  bool flush_posted_ = false;
  std::deque<Waiting> waiting_;
  int greetings_left_ = 0;
  TimePoint connect_deadline_;
  TimePoint idle_since_;
  TimePoint became_ready_;
  TimePoint watched_ = TimePoint::max();
  unsigned attempts_ = 0;  // failed in a row
  std::uint64_t sent_ = 0;
  std::minstd_rand jitter_;
  ConnectionStats stats_;
};

// A waiting completion handler, in memory that the handler's own allocator recycles.
template <class Handler>
class HandlerCall final : public PendingCall {
  using Allocator = typename std::allocator_traits<
      boost::asio::associated_allocator_t<Handler>>::template rebind_alloc<HandlerCall>;

 public:
  static HandlerCall* make(Handler&& handler) {
    Allocator allocator(boost::asio::get_associated_allocator(handler));
    auto* place = std::allocator_traits<Allocator>::allocate(allocator, 1);
    return ::new (place) HandlerCall(std::move(handler));
  }

  explicit HandlerCall(Handler&& handler) : handler_(std::move(handler)) {}

  void finish(Result<Reply> reply) override {
    Handler handler = take();
    const auto executor = boost::asio::get_associated_executor(handler);
    boost::asio::dispatch(executor, [handler = std::move(handler), reply = std::move(reply)]() mutable {
      std::move(handler)(std::move(reply));
    });
  }
  void drop() noexcept override { take(); }

 private:
  Handler take() {
    Handler handler = std::move(handler_);
    Allocator allocator(boost::asio::get_associated_allocator(handler));
    this->~HandlerCall();
    std::allocator_traits<Allocator>::deallocate(allocator, this, 1);
    return handler;
  }
  ~HandlerCall() = default;

  Handler handler_;
};

template <class Token>
auto Connection::execute(std::string_view request, TimePoint deadline, Token&& token) {
  return boost::asio::async_initiate<Token, void(Result<Reply>)>(
      [](auto handler, Connection* self, std::string_view bytes, TimePoint by) {
        using Handler = decltype(handler);
        auto* call = HandlerCall<Handler>::make(std::move(handler));
        if (!self->accept(call, bytes, by)) self->refuse(call);
      },
      token, this, request, deadline);
}

}  // namespace weir::redis
