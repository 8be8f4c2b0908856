// SPDX-License-Identifier: Apache-2.0
// A named pool of backends, as configured. A zero duration means: no limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::net {
class TlsClientContext;
}

namespace weir::upstream {

// hash: requests of one key go to one endpoint (weighted rendezvous hashing, with a bound on its load).
enum class Balance : std::uint8_t { least_request, round_robin, hash };

enum class HashSource : std::uint8_t { dimension, header, cookie, path };

// The key of `hash`. A request that has none is hashed by its client's address.
struct HashOptions {
  HashSource source = HashSource::path;
  std::string name;            // of the dimension, header or cookie
  std::uint8_t dimension = 0;  // its index
  int bound_percent = 125;  // of its fair share of what is under way, that an endpoint may have; see kSlack
  bool operator==(const HashOptions&) const = default;
};

struct EndpointOptions {
  std::string host;  // literal address, DNS name, or "unix:/path" (the port is 0 then)
  std::uint16_t port = 0;
  int weight = 1;  // 1 .. 1000: its share of the requests, relative to the other endpoints
  bool operator==(const EndpointOptions&) const = default;
};

// Active checks: a GET of `path`, by the process, whatever its number of workers.
struct HealthOptions {
  std::string path;  // empty: no checks
  std::string host;  // Host of the request; empty: the endpoint's name
  std::chrono::milliseconds interval{5000};
  std::chrono::milliseconds timeout{1000};  // of one check, from connecting to the response head
  int healthy = 2;                          // good checks in a row that bring an endpoint back
  int unhealthy = 3;                        // bad ones that take it out
  int status_from = 200;                    // a good answer's status, both included
  int status_to = 399;
  bool operator==(const HealthOptions&) const = default;
};

// Passive checks: an endpoint whose requests fail is left out for a while that grows each time.
struct EjectionOptions {
  int failures = 5;  // in a row: no connection, no answer in time, a reset, or a status of `statuses`; 0: off
  std::vector<int> statuses{502, 503, 504};
  std::chrono::milliseconds time{10000};  // the first time, the second twice as long, then three times ...
  std::chrono::milliseconds max_time{300000};  // ... up to this
  int max_percent = 50;                        // of the endpoints at once, but one of several always may
  bool operator==(const EjectionOptions&) const = default;
};

// When a request that failed is tried again. What was never sent (no connection) goes to another endpoint in
// any case, and a connection that dies before the first response byte is replaced once, if that is safe.
struct RetryOptions {
  int attempts = 1;         // tries in all, the first included
  int core_attempts = 2;    // the same for routes of criticality core
  int budget_percent = 20;  // retries may be this share of the requests of the last ten seconds
  bool on_reset = true;     // no answer, the connection broke
  bool on_timeout = false;  // no answer in the response time
  std::vector<int> on_statuses{502, 503};
  bool operator==(const RetryOptions&) const = default;
};

// How much an endpoint takes at a time, over all workers of the process.
struct CapOptions {
  std::size_t max_connections = 0;  // requests under way per endpoint, each on its own connection; 0: any
  std::size_t queue_size = 100;     // requests that wait, per upstream; one more gets 503
  std::chrono::milliseconds queue_wait{1000};  // the longest wait, then 503
  bool operator==(const CapOptions&) const = default;
};

struct ClusterOptions {
  std::string name;
  std::vector<EndpointOptions> endpoints;
  Balance balance = Balance::least_request;
  HashOptions hash;
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds response_timeout{
      30000};                                     // from the request's last byte to the response head: 504
  std::chrono::milliseconds idle_timeout{60000};  // no body byte from the upstream for that long
  std::chrono::milliseconds total_timeout{0};
  std::chrono::milliseconds core_total_timeout{2000};  // the same for routes of criticality core
  std::chrono::milliseconds keep_alive{50000};         // pooled connections are closed when idle that long
  std::size_t idle_connections = 256;                  // kept per endpoint and worker
  std::size_t requests_per_connection = 0;             // 0: as many as it lives
  std::chrono::milliseconds slow_start{0};  // an endpoint that comes back gets its full share after it
  std::chrono::milliseconds drain{60000};  // tunnels to an endpoint that is no longer configured live so long
  HealthOptions health;
  EjectionOptions ejection;
  RetryOptions retries;
  CapOptions cap;
  std::shared_ptr<const net::TlsClientContext> tls;  // nullptr: plain
  std::string tls_version;  // a hash of what `tls` was made from: connections of another are not used
  // Protocols that a client may switch to (Upgrade), lower case. Never h2c: that would be HTTP nobody checks.
  std::vector<std::string> upgrades{"websocket"};
  // Trailer fields that are passed on, lower case, as trailers, never merged into the fields.
  std::vector<std::string> trailers{"grpc-status", "grpc-message", "server-timing", "content-digest",
                                    "repr-digest"};
  bool operator==(const ClusterOptions&) const = default;
};

}  // namespace weir::upstream
