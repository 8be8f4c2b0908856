// SPDX-License-Identifier: Apache-2.0
// Where counters live, as configured.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weir::store {

enum class StoreKind : std::uint8_t { memory, redis };

struct StoreOptions {
  StoreKind kind = StoreKind::memory;
  std::size_t max_keys = 1'000'000;  // memory: counters kept; at least 64
  // redis://host:port/db or unix:///path
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string unix_path;  // instead of host and port
  int database = 0;
  std::string username;
  std::string password;                   // from password_file or ${NAME}; never printed
  std::chrono::milliseconds timeout{20};  // per call; alone decides that a call failed
  std::size_t instances = 1;              // live gateways, for the local share of a limit while Redis is down
  std::chrono::seconds long_after{60};    // a brief failure becomes a long one
};

}  // namespace weir::store
