// SPDX-License-Identifier: Apache-2.0
// One client connection: the coroutine that reads heads, hands exchanges to the handler, and keeps order
// (pipelined requests are answered one after another). While idle it owns no buffer and no exchange.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "http/server_exchange.hpp"
#include "net/listening_socket.hpp"
#include "net/stream.hpp"
#include "weir/http/options.hpp"

namespace weir::http {

class Server;

class Connection {
 public:
  Connection(Server& server, int descriptor, const net::PeerAddress& peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The connection's life; owns it.
  static boost::asio::awaitable<void> run(std::unique_ptr<Connection> self);

  void look_again() { stream_.nudge(); }  // an idle connection judges its deadline anew (drain)
  void kill();

 private:
  friend class Server;  // keeps the list
  enum class Step : std::uint8_t { wait, exchange, refuse, close };

  Step next_step();
  Step parse();
  Step read_more();
  std::int64_t wait_deadline() const noexcept;
  Step after_wait(net::Wake wake);
  bool prepare_next();
  void release_exchange() noexcept;

  Server& server_;
  net::Stream stream_;
  net::PeerAddress peer_;
  std::shared_ptr<const ServerOptions> options_;
  std::unique_ptr<ServerExchange> exchange_;
  std::int64_t since_ms_;  // idle since, or when the first octet of the head came
  int refused_status_ = 0;
  int exchanges_in_turn_ = 0;
  bool killed_ = false;
  Connection* next_ = nullptr;
  Connection** slot_ = nullptr;
};

}  // namespace weir::http
