// SPDX-License-Identifier: Apache-2.0
// Limits and times of the client side. Defaults are the configuration's.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir::http {

// A zero duration means: no limit.
struct ServerOptions {
  std::size_t header_bytes = 64 * 1024;         // start line and fields together; above: 431. At most 64 KiB.
  std::size_t header_count = 100;               // above: 431
  std::size_t target_bytes = 16 * 1024;         // above: 414
  std::uint64_t body_bytes = 10 * 1024 * 1024;  // above: 413
  std::size_t connections = 20000;              // per process; accepting pauses at it
  std::size_t connections_per_address = 0;      // 0: no cap
  std::chrono::milliseconds header_timeout{10000};      // from the head's first octet to its end; 408
  std::chrono::milliseconds body_idle_timeout{30000};   // no body byte for that long; 408
  std::chrono::milliseconds keep_alive_timeout{75000};  // idle between requests; quiet close
  std::chrono::milliseconds total_timeout{0};           // whole exchange
  std::chrono::milliseconds write_timeout{30000};       // client takes no byte for that long
  std::chrono::milliseconds tunnel_idle_timeout{60 * 60 * 1000};  // neither side of a tunnel sends that long
  // Bytes per second that a request's body must come with; below: 408. The mean of every body_idle_timeout
  // (or body_rate_window, if that is longer) spent waiting for the client. 0: no minimum.
  std::uint64_t body_min_rate = 100;
  std::chrono::milliseconds body_rate_window{10000};  // the shortest time that mean is taken over
  std::chrono::milliseconds linger_time{2000};        // after a local reply while a body still comes
  std::size_t linger_bytes = 1024 * 1024;
};

}  // namespace weir::http
