// SPDX-License-Identifier: Apache-2.0
// How one request is forwarded to a named pool of backends.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/http/exchange.hpp"
#include "weir/http/field_names.hpp"
#include "weir/upstream/options.hpp"

namespace weir::upstream {

enum class ForwardError : std::uint8_t {
  none,
  no_endpoint,
  connect_failed,    // 502
  connect_timeout,   // 504
  response_timeout,  // 504
  bad_response,      // 502: broken framing or syntax
  reset,             // 502: closed before a response, or in the middle of one
  tls_failed,        // 502: no handshake, or a certificate that is not trusted
  client_gone,
  body_refused,     // the client's body broke a rule (the exchange's error was answered)
  queue_full,       // 503: every endpoint has max_connections, and as many wait as may
  queue_timeout,    // 503: waited for a connection as long as allowed
  unwanted_status,  // an answer that is thrown away because the request is tried again; never a result
};
inline constexpr std::size_t kForwardErrors = 13;

// Which of a cluster's terms hold: those of routes of criticality core are stricter.
enum class Terms : std::uint8_t { ordinary, core };

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
  std::uint64_t balance_key = 0;  // of Balance::hash
  Terms terms = Terms::ordinary;
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
