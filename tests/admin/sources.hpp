// SPDX-License-Identifier: Apache-2.0
// An AdminSource whose answers say what was asked.
#pragma once

#include <string>

#include "admin/admin_source.hpp"

namespace weir::admin::test {

inline AdminSource source() {
  AdminSource source;
  source.metrics = [] { return std::string("weir_up 1\n"); };
  source.not_ready = [] { return std::string(); };
  source.status = [] { return std::string("{\"node\":\"edge-1\"}"); };
  source.config = [] { return std::string("{}"); };
  source.top = [] { return std::string("{\"caller\":{}}"); };
  source.limits = [] { return std::string("{\"layers\":[]}"); };
  source.explain = [](const pipeline::ProbeRequest& probe) {
    std::string text = probe.method + ' ' + probe.target;
    for (const auto& [name, value] : probe.headers) text += ' ' + name + '=' + value;
    return "{\"probe\":\"" + text + ' ' + probe.peer + "\"}";
  };
  source.live = [](std::uint64_t since) { return "{\"since\":" + std::to_string(since) + "}"; };
  source.read_counter = [](const CounterRequest& request) {
    std::string text = request.layer + (request.lane == Lane::exempt ? " exempt" : "");
    for (const auto& [name, value] : request.key) text += ' ' + name + '=' + value.value_or("~");
    return SourceAnswer{200, "{\"counter\":\"" + text + "\"}"};
  };
  source.reset_counter = [](const CounterRequest& request, std::string_view peer) {
    return SourceAnswer{request.confirm.empty() ? 200 : 409,
                        "{\"reset\":\"" + request.layer + "\",\"peer\":\"" + std::string(peer) + "\"}"};
  };
  return source;
}

}  // namespace weir::admin::test
