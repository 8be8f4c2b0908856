// SPDX-License-Identifier: Apache-2.0
// The client side of one worker: its listening sockets and the connections it accepted. Create one per worker
// thread, on that thread (or before it runs), with the worker's own handler:
//
//   boost::asio::io_context io(1);
//   net::EventLoop loop(io, system_clock());
//   upstream::Forwarders forwarders(loop);
//   forwarders.update(runtime.clusters);
//   GatewayHandler handler(..., forwarders, ...);
//   http::Server server(loop, handler, budget, options);
//   server.listen("0.0.0.0", 8080);
//   io.run();
//
// To end: post drain() to every worker; when every idle() is true or the drain time is over, post stop(),
// then forwarders.stop() and loop.stop(); io.run() returns. Destroy in reverse order of creation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/connection_budget.hpp"
#include "http/exchange_pool.hpp"
#include "net/event_loop.hpp"
#include "net/listening_socket.hpp"
#include "net/tls_error.hpp"
#include "weir/base/result.hpp"
#include "weir/http/exchange.hpp"
#include "weir/http/options.hpp"

namespace weir::http {

class Connection;

// Why a connection that has to begin with a PROXY header was closed.
enum class ProxyFault : std::uint8_t { untrusted, malformed, timeout };
inline constexpr std::size_t kProxyFaults = 3;
std::string_view proxy_fault_name(ProxyFault fault) noexcept;

// Facts of one worker's server; written by its thread, readable by any.
struct ServerStats {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> rejected{0};  // closed at once: above the cap of their address
  std::atomic<std::uint64_t> shed{0};      // closed between requests at the cap, to make room
  std::atomic<std::uint64_t> pauses{0};    // times accepting stopped: at the cap, or out of descriptors
  std::atomic<std::int64_t> open_connections{0};
  std::atomic<std::int64_t> in_flight{0};     // exchanges between head and last byte
  std::atomic<std::int64_t> open_tunnels{0};  // among them: connections that switched protocols
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> malformed{0};                 // refused before they became an exchange
  std::array<std::atomic<std::uint64_t>, 2> handshakes{};  // by net::TlsVersion
  std::atomic<std::uint64_t> resumed{0};                   // among them
  std::array<std::atomic<std::uint64_t>, net::kTlsErrors> tls_failures{};  // by net::TlsError
  std::array<std::atomic<std::uint64_t>, kProxyFaults> proxy_faults{};     // by ProxyFault
};

class Server {
 public:
  // `handler` and `loop` outlive the server. `budget` is shared by all workers of the process.
  Server(net::EventLoop& loop, Handler& handler, std::shared_ptr<ConnectionBudget> budget,
         std::shared_ptr<const ServerOptions> options);
  ~Server();  // calls stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Opens a listening socket with SO_REUSEPORT (each worker opens its own on the same port). `address` is a
  // literal. Returns the port, which matters where 0 was asked for. What is spoken there is the entry of
  // ServerOptions::listeners with this address and port.
  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port);
  // The same on a socket that listens already; takes the descriptor.
  Result<std::uint16_t> listen_on(int descriptor, const std::string& address, std::uint16_t port);

  // The rest runs on the worker's thread.
  void set_options(std::shared_ptr<const ServerOptions> options);  // for connections and heads from now on
  // Stops accepting (what the kernel had accepted already is still served), closes connections that stay idle
  // for a second, and ends every other one with "Connection: close" on its next response.
  void drain();
  // Ends every connection now. Exchanges waiting for their client or upstream end at once.
  void stop() noexcept;
  bool idle() const noexcept { return stats_.open_connections.load(std::memory_order_relaxed) == 0; }

  const ServerStats& stats() const noexcept { return stats_; }

 private:
  friend class Connection;
  struct Listening {
    std::unique_ptr<net::ListeningSocket> socket;
    std::string address;  // as asked for
    std::uint16_t port = 0;
  };
  Result<std::uint16_t> keep(std::unique_ptr<net::ListeningSocket> socket, const std::string& address,
                             std::uint16_t port);
  net::ListeningSocket::Receiver receiver() noexcept;
  void accept_from(net::ListeningSocket& socket);
  const ListenerOptions* options_of(const net::ListeningSocket& socket) const noexcept;
  void adopt(int descriptor, const net::PeerAddress& peer, const ListenerOptions* listener);
  bool shed_idle() noexcept;
  void pause_accepting() noexcept;
  void resume_accepting();
  void forget(Connection& connection) noexcept;

  net::EventLoop& loop_;
  Handler& handler_;
  std::shared_ptr<ConnectionBudget> budget_;
  std::shared_ptr<const ServerOptions> options_;
  ExchangePool exchanges_;
  ServerStats stats_;
  std::vector<Listening> sockets_;
  net::Timer retry_;  // accepting resumes, after a pause
  Connection* first_ = nullptr;
  std::int64_t drains_since_ms_ = 0;  // 0: not draining
  bool draining_ = false;
  bool paused_ = false;
};

}  // namespace weir::http
