// SPDX-License-Identifier: Apache-2.0
// Where counters live, as configured.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::net {
class TlsClientContext;
}

namespace weir::store {

enum class StoreKind : std::uint8_t { memory, redis };

// How a shared store is asked (src/store/lease_store.hpp).
enum class Counting : std::uint8_t {
  exact,      // once per request
  automatic,  // `auto`: leases for keys that this process sees often, once per request for the others
  leased,     // leases for all keys that are asked for more than now and then
};

struct LeaseOptions {
  Counting counting = Counting::automatic;
  std::chrono::milliseconds max_age{
      1000};                               // no permit is used later than this after it was taken; 50 .. 1000
  std::int64_t outstanding_permille = 50;  // of a sliding_window, at most so much per lease
  std::int64_t debt_permille = 0;       // of a limit, for the whole fleet: lease_rules.hpp, credit(); 0 .. 50
  std::size_t max_keys = 32768;         // keys whose rate, leases and denials are known
  std::int64_t requests = 40;           // that one lease should serve
  std::chrono::milliseconds ahead{10};  // the next lease is fetched when this one lasts no longer
};

struct StoreAddress {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const StoreAddress&) const = default;
};

struct StoreOptions {
  StoreKind kind = StoreKind::memory;
  std::size_t max_keys = 1'000'000;  // memory: counters kept; at least 64
  // redis://host:port/db, rediss:// (TLS) or unix:///path
  std::string host = "127.0.0.1";  // with sentinels: the name that they watch the primary under
  std::uint16_t port = 6379;
  std::string unix_path;  // instead of host and port
  int database = 0;
  std::string username;
  std::string password;                              // from password_file or ${NAME}; never printed
  std::shared_ptr<const net::TlsClientContext> tls;  // nullptr: in the clear
  std::string tls_version;                           // changes with what tls was made of
  std::vector<StoreAddress> cluster;    // nodes to ask for the map of a cluster; empty: one server
  std::vector<StoreAddress> sentinels;  // who knows the primary; empty: it is at host and port
  std::string sentinel_username;
  std::string sentinel_password;          // never printed
  std::chrono::milliseconds timeout{20};  // per call; alone decides that a call failed
  std::size_t instances = 1;              // live gateways, for the local share of a limit while Redis is down
  std::chrono::seconds long_after{60};    // a brief failure becomes a long one
  LeaseOptions lease;
  std::shared_ptr<const StoreOptions> parent;  // of the layers that all regions share; null: there are none
};

}  // namespace weir::store
