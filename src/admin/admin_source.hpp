// SPDX-License-Identifier: Apache-2.0
// What the admin port shows and steers, as functions that the application supplies: admin knows no worker and
// no store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "admin/counter_request.hpp"
#include "pipeline/explain.hpp"

namespace weir::admin {

// An HTTP status and a JSON document.
struct SourceAnswer {
  int status = 200;
  std::string json;
};

// Called on the admin thread, one at a time; each must be safe there and return within a second or so. JSON
// documents are whole. A function that throws answers 500. Those said to may be empty.
struct AdminSource {
  std::function<std::string()> metrics;  // Prometheus text exposition
  // Why it shall get no traffic (it starts, drains, or may not count in its store); empty: it takes traffic.
  std::function<std::string()> not_ready;
  std::function<std::string()>
      status;  // JSON: version, node, uptime, configuration, store, workers, connections
  std::function<std::string()> config;  // JSON: the effective configuration, secrets replaced
  std::function<std::string()> top;     // JSON: heaviest callers, users and APIs; empty: GET /top is 404
  std::function<std::string(pipeline::ProbeRequest)> explain;  // JSON: the chain for a made-up request
  // JSON: of each layer where and how it is counted, and its worst-case overshoot. May be empty.
  std::function<std::string()> limits;
  // JSON: everything the status page shows; of the traffic, the points newer than `since`. May be empty.
  std::function<std::string(std::uint64_t since)> live;
  // One counter: looked at, or made a fresh one on behalf of `peer` ("127.0.0.1:4711"). Both may be empty.
  std::function<SourceAnswer(const CounterRequest&)> read_counter;
  std::function<SourceAnswer(const CounterRequest&, std::string_view peer)> reset_counter;
};

}  // namespace weir::admin
