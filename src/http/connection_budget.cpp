// SPDX-License-Identifier: Apache-2.0
#include "http/connection_budget.hpp"

#include "base/hash.hpp"

namespace weir::http {

std::size_t ConnectionBudget::AddressHash::operator()(
    const boost::asio::ip::address& address) const noexcept {
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    return stable_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, process_seed());
  }
  const auto bytes = address.to_v6().to_bytes();
  return stable_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, process_seed());
}

ConnectionBudget::Verdict ConnectionBudget::take(const boost::asio::ip::address& address, std::size_t total,
                                                 std::size_t per_address) {
  if (open_.fetch_add(1, std::memory_order_relaxed) >= static_cast<std::int64_t>(total)) {
    open_.fetch_sub(1, std::memory_order_relaxed);
    return Verdict::full;
  }
  const std::lock_guard lock(mutex_);
  std::uint32_t& count = by_address_[address];
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
  const auto found = by_address_.find(address);
  if (found != by_address_.end() && --found->second == 0) by_address_.erase(found);
}

}  // namespace weir::http
