// SPDX-License-Identifier: Apache-2.0
// One client connection: the coroutine that reads heads, hands exchanges to the handler, and keeps order
// (pipelined requests are answered one after another). While idle it owns no buffer and no exchange.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "http/server_exchange.hpp"
#include "net/listening_socket.hpp"
#include "net/proxy_header.hpp"
#include "net/stream.hpp"
#include "weir/http/options.hpp"

namespace weir::net {
class TlsStream;
}

namespace weir::http {

class Server;
enum class ProxyFault : std::uint8_t;

class Connection {
 public:
  // `listener`: null where plain HTTP is spoken.
  Connection(Server& server, int descriptor, const net::PeerAddress& peer, const ListenerOptions* listener);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The connection's life; owns it.
  static boost::asio::awaitable<void> run(std::unique_ptr<Connection> self);

  void look_again() { stream_->nudge(); }  // an idle connection judges its deadline anew (drain)
  void kill();
  // Between requests, with nothing of the next one here: it may be closed at any time (RFC 9112 9.5).
  bool rests() const noexcept { return opened_ && exchange_ == nullptr && stream_->waiting(); }
  std::int64_t since_ms() const noexcept { return since_ms_; }  // idle since, or a head under way since

 private:
  friend class Server;  // keeps the list
  enum class Step : std::uint8_t { wait, exchange, refuse, close };

  static std::unique_ptr<net::Stream> make_stream(Server& server, int descriptor,
                                                  const ListenerOptions* listener);
  // What stands before the first request. False: the connection is to be closed.
  boost::asio::awaitable<bool> open_up();
  boost::asio::awaitable<bool> read_proxy_header(std::int64_t deadline_ms);
  boost::asio::awaitable<bool> handshake(std::int64_t deadline_ms);
  bool take_proxy_header(const net::ProxyHeader& header);
  bool refuse_proxy(ProxyFault fault) noexcept;

  Step next_step();
  Step parse();
  Step read_more();
  std::int64_t wait_deadline() const noexcept;
  Step after_wait(net::Wake wake);
  bool prepare_next();
  void release_exchange() noexcept;
  void put_exchange_away() noexcept;  // which is ready for another request

  Server& server_;
  std::unique_ptr<net::Stream> stream_;
  net::TlsStream* tls_ = nullptr;  // stream_, if it is one
  net::PeerAddress peer_;
  std::shared_ptr<const ServerOptions> options_;
  std::unique_ptr<ServerExchange> exchange_;
  std::int64_t since_ms_;  // idle since, or when the first octet of the head came
  int refused_status_ = 0;
  int exchanges_in_turn_ = 0;
  bool killed_ = false;
  bool awaits_proxy_header_ = false;
  bool opened_ = false;  // what stands before the first request is over
  Connection* next_ = nullptr;
  Connection** slot_ = nullptr;
};

}  // namespace weir::http
