// SPDX-License-Identifier: Apache-2.0
#include "http/connection_budget.hpp"

#include <algorithm>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include "base/hash.hpp"

namespace weir::http {

std::size_t ConnectionBudget::ClientHash::operator()(const Client& client) const noexcept {
  return stable_hash({reinterpret_cast<const char*>(client.data()), client.size()}, process_seed());
}

// IPv4 clients lie in ff00::/8, which is multicast: no client comes from there.
ConnectionBudget::Client ConnectionBudget::client_of(const boost::asio::ip::address& address) noexcept {
  Client client{};
  const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  if (address.is_v6() && !mapped) {
    const auto bytes = address.to_v6().to_bytes();
    std::copy_n(bytes.begin(), client.size(), client.begin());
    return client;
  }
  const auto four = mapped ? boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
                           : address.to_v4();
  const auto bytes = four.to_bytes();
  client[0] = 0xff;
  std::copy(bytes.begin(), bytes.end(), client.begin() + 4);
  return client;
}

ConnectionBudget::Verdict ConnectionBudget::take(const boost::asio::ip::address& address, std::size_t total,
                                                 std::size_t per_address) {
  if (open_.fetch_add(1, std::memory_order_relaxed) >= static_cast<std::int64_t>(total)) {
    open_.fetch_sub(1, std::memory_order_relaxed);
    return Verdict::full;
  }
  const std::lock_guard lock(mutex_);
  std::uint32_t& count = by_client_[client_of(address)];
  if (per_address != 0 && count >= per_address) {
    open_.fetch_sub(1, std::memory_order_relaxed);
    return Verdict::address_full;
  }
  ++count;
  return Verdict::granted;
}

void ConnectionBudget::give_back(const boost::asio::ip::address& address) noexcept {
  open_.fetch_sub(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const auto found = by_client_.find(client_of(address));
  if (found != by_client_.end() && --found->second == 0) by_client_.erase(found);
}

}  // namespace weir::http
