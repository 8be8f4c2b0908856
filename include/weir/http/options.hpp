// SPDX-License-Identifier: Apache-2.0
// Limits and times of the client side. Defaults are the configuration's.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::net {
class TlsServerContext;
}

namespace weir::http {

// What clients of one listening address have to speak. Changes count for connections from then on.
struct ListenerOptions {
  enum class Preamble : std::uint8_t { none, proxy_protocol };

  std::string host;  // a literal, as given to Server::listen()
  std::uint16_t port = 0;
  std::shared_ptr<const net::TlsServerContext> tls;  // null: plain HTTP
  Preamble preamble = Preamble::none;  // proxy_protocol: every connection begins with its header
};

// A zero duration means: no limit.
struct ServerOptions {
  std::size_t header_bytes = 64 * 1024;         // start line and fields together; above: 431. At most 64 KiB.
  std::size_t header_count = 100;               // above: 431
  std::size_t target_bytes = 16 * 1024;         // above: 414
  std::uint64_t body_bytes = 10 * 1024 * 1024;  // above: 413
  std::size_t connections = 20000;              // per process; accepting pauses at it
  std::size_t connections_per_address = 0;      // 0: no cap
  std::chrono::milliseconds header_timeout{10000};      // from the head's first octet to its end; 408.
                                                        // Also: for a PROXY header and a TLS handshake.
  std::chrono::milliseconds body_idle_timeout{30000};   // no body byte for that long; 408
  std::chrono::milliseconds keep_alive_timeout{75000};  // idle between requests; quiet close
  std::chrono::milliseconds total_timeout{0};           // whole exchange
  std::chrono::milliseconds write_timeout{30000};       // client acknowledges no byte for that long
  std::chrono::milliseconds tunnel_idle_timeout{60 * 60 * 1000};  // neither side of a tunnel sends that long
  // Bytes per second that a request's body must come with; below: 408. The mean of every body_idle_timeout
  // (or body_rate_window, if that is longer) spent waiting for the client. 0: no minimum.
  std::uint64_t body_min_rate = 100;
  // The same for a response, as the client's side acknowledges it: the mean of every write_timeout (or
  // body_rate_window) spent waiting for the client; below, the connection is reset. 0: no minimum.
  std::uint64_t response_min_rate = 100;
  std::chrono::milliseconds body_rate_window{10000};  // the shortest time these means are taken over
  std::chrono::milliseconds linger_time{2000};        // after a local reply while a body still comes
  std::size_t linger_bytes = 1024 * 1024;
  std::vector<ListenerOptions> listeners;  // addresses that are not among them are plain
  // Who may say whose connection it is (PROXY protocol); empty: nobody.
  std::function<bool(const boost::asio::ip::address& peer)> trusts_proxy;
};

}  // namespace weir::http
