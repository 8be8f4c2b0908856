// SPDX-License-Identifier: Apache-2.0
// Plain facts about one finished request, for the access log, the denial log and the metrics. Telemetry sees
// no domain type: whoever knows the facts fills in a record.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weir::telemetry {

// A dimension of identity beside caller and user, by name.
struct NamedValue {
  std::string_view name;
  std::string_view value;
};

// One layer's part in a decision.
struct LayerRecord {
  std::string_view layer;
  std::string_view caller;  // for the bounded per-caller counters
  bool refused = false;     // in hit_layers
  bool shadow_refused = false;
  bool warned = false;
  bool charged = false;
  std::uint8_t answered = 0;  // limit::Answered
  std::int64_t limit = 0;
  std::int64_t used = 0;
  std::int64_t window_ms = 0;
  bool just_switched = false;  // within 5 s of the start of its fixed window
};

struct RequestRecord {
  std::int64_t wall_ms = 0;
  std::int64_t duration_us = 0;
  std::int64_t upstream_us = 0;
  std::int64_t limiter_us = 0;
  std::string_view request_id;
  std::string_view method;
  std::string_view path;   // normal form
  std::string_view route;  // route template
  std::string_view api;    // api dimension
  std::string_view caller;
  std::string_view user;
  std::string_view client;    // client address
  std::string_view tls;       // version it came in with, "TLSv1.3"; "" if plain
  std::string_view upstream;  // cluster name
  std::string_view endpoint;
  int status = 0;
  int upstream_status = 0;
  int attempts = 0;  // at upstreams
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::string_view outcome;         // "allowed", "over_limit", "blocked", ... (limit::Outcome)
  std::string_view upstream_error;  // ForwardError by name, "" if none
  std::string_view ending;
  bool exempt = false;
  std::int64_t cost = 1;
  std::int64_t true_cost = 1;  // after the response; equals cost where nothing was settled
  std::int64_t retry_after_s = 0;
  std::string_view final_hit_layer;  // "" unless refused
  std::int64_t limit_value = 0;      // of the final hit
  std::int64_t current_value = 0;
  std::span<const LayerRecord> layers;   // in chain order
  std::span<const NamedValue> identity;  // what sources said of role, tier and the like
};

}  // namespace weir::telemetry
