// SPDX-License-Identifier: Apache-2.0
// What the admin port shows, as functions that the application supplies: admin knows no worker and no store.
#pragma once

#include <functional>
#include <string>

#include "pipeline/explain.hpp"

namespace weir::admin {

// Called on the admin thread, one at a time; each must be safe there and return within a second or so. JSON
// documents are whole. A function that throws answers 500. None may be empty but `top`.
struct AdminSource {
  std::function<std::string()> metrics;  // Prometheus text exposition
  std::function<bool()> ready;           // takes traffic: started, and not draining
  std::function<std::string()>
      status;  // JSON: version, node, uptime, configuration, store, workers, connections
  std::function<std::string()> config;  // JSON: the effective configuration, secrets replaced
  std::function<std::string()> top;     // JSON: heaviest callers, users and APIs; empty: GET /top is 404
  std::function<std::string(pipeline::ProbeRequest)> explain;  // JSON: the chain for a made-up request
};

}  // namespace weir::admin
