// SPDX-License-Identifier: Apache-2.0
// An AdminSource whose answers say what was asked.
#pragma once

#include <string>

#include "admin/admin_source.hpp"

namespace weir::admin::test {

inline AdminSource source() {
  AdminSource source;
  source.metrics = [] { return std::string("weir_up 1\n"); };
  source.ready = [] { return true; };
  source.status = [] { return std::string("{\"node\":\"edge-1\"}"); };
  source.config = [] { return std::string("{}"); };
  source.top = [] { return std::string("{\"caller\":{}}"); };
  source.explain = [](const pipeline::ProbeRequest& probe) {
    std::string text = probe.method + ' ' + probe.target;
    for (const auto& [name, value] : probe.headers) text += ' ' + name + '=' + value;
    return "{\"probe\":\"" + text + ' ' + probe.peer + "\"}";
  };
  return source;
}

}  // namespace weir::admin::test
