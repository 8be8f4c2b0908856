// SPDX-License-Identifier: Apache-2.0
// "host:port" and "[v6]:port" on the command line.
#pragma once

#include <charconv>
#include <string>

#include "app/command_line.hpp"
#include "pipeline/runtime.hpp"

namespace weir::app {

// Throws UsageError.
inline pipeline::Listener parse_listener(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  if (colon == std::string::npos || std::from_chars(text.data() + colon + 1, end, port).ptr != end) {
    throw UsageError{"'" + text + "' is no address, write host:port"};
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, port};
}

}  // namespace weir::app
