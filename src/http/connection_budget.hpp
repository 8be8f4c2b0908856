// SPDX-License-Identifier: Apache-2.0
// How many client connections the process may hold, in all and per client address. An IPv6 client is its /64:
// it has all addresses of that network for the asking. Shared by all workers; thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <mutex>

namespace weir::http {

class ConnectionBudget {
 public:
  enum class Verdict : std::uint8_t { granted, full, address_full };

  // Counts one more connection unless that would pass a cap. A `per_address` of 0 is no cap.
  Verdict take(const boost::asio::ip::address& address, std::size_t total, std::size_t per_address);
  // Gives back what take() granted.
  void give_back(const boost::asio::ip::address& address) noexcept;

  std::int64_t open() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  using Client = std::array<unsigned char, 8>;  // an IPv6 network, or an IPv4 address in a place that is none
  struct ClientHash {
    std::size_t operator()(const Client& client) const noexcept;
  };
  static Client client_of(const boost::asio::ip::address& address) noexcept;

  std::atomic<std::int64_t> open_{0};
  std::mutex mutex_;
  boost::unordered_flat_map<Client, std::uint32_t, ClientHash> by_client_;
};

}  // namespace weir::http
