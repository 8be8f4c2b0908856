// SPDX-License-Identifier: Apache-2.0
// A named pool of backends, as configured; and how one request is forwarded to it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/http/exchange.hpp"
#include "weir/http/field_names.hpp"

namespace weir::upstream {

enum class Balance : std::uint8_t { least_request, round_robin };

struct EndpointOptions {
  std::string host;  // literal address or DNS name
  std::uint16_t port = 0;
  bool operator==(const EndpointOptions&) const = default;
};

// A zero duration means: no limit.
struct ClusterOptions {
  std::string name;
  std::vector<EndpointOptions> endpoints;
  Balance balance = Balance::least_request;
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds response_timeout{
      30000};                                     // from the request's last byte to the response head: 504
  std::chrono::milliseconds idle_timeout{60000};  // no body byte from the upstream for that long
  std::chrono::milliseconds total_timeout{0};
  std::chrono::milliseconds keep_alive{50000};  // pooled connections are closed when idle that long
  std::size_t idle_connections = 256;           // kept per endpoint and worker
  // Protocols that a client may switch to (Upgrade), lower case. Never h2c: that would be HTTP nobody checks.
  std::vector<std::string> upgrades{"websocket"};
  bool operator==(const ClusterOptions&) const = default;
};

enum class ForwardError : std::uint8_t {
  none,
  no_endpoint,
  connect_failed,    // 502
  connect_timeout,   // 504
  response_timeout,  // 504
  bad_response,      // 502: broken framing or syntax
  reset,             // 502: closed before a response, or in the middle of one
  client_gone,
  body_refused,  // the client's body broke a rule (the exchange's error was answered)
};

struct ForwardResult {
  ForwardError error = ForwardError::none;
  int upstream_status = 0;       // 0: no response head came
  std::string endpoint;          // "host:port" of the last attempt (short string: no allocation below 16)
  std::int64_t connect_us = 0;   // 0 on a pooled connection
  std::int64_t response_us = 0;  // request sent -> response head
  int attempts = 0;
  std::uint64_t cost_header = 0;  // value of the response's cost field where one was asked for
  bool has_cost_header = false;
};

// What the pipeline adds to the request and to the response on its way through. All are complete field lines.
// The forwarder itself sets Host, the framing fields and "Via: 1.1 weir", and adds a missing Date.
struct ForwardPlan {
  std::string_view request_target;   // to send upstream (raw or normalised)
  std::string_view request_fields;   // X-Forwarded-*, X-Request-Id, asserted identity; added last
  std::string_view response_fields;  // rate-limit fields, X-Request-Id
  // Client fields that must not reach the upstream: names in lower case (asserted identity, forwarded
  // family).
  const http::FieldNames* remove_request_fields = nullptr;
  // Upstream fields that must not reach the client (upstream_fields: strip), lower case.
  const http::FieldNames* remove_response_fields = nullptr;
  std::string_view cost_response_field;  // read the true cost from it (lower case), strip it; empty: none
};

// Forwards one exchange: picks an endpoint, sends the request, streams both bodies, and answers 502/504
// itself with a problem+json body where no response can be had. Never throws. One per worker and cluster.
class Forwarder {
 public:
  virtual ~Forwarder() = default;
  virtual boost::asio::awaitable<ForwardResult> forward(http::Exchange& exchange,
                                                        const ForwardPlan& plan) = 0;
};

}  // namespace weir::upstream
