// SPDX-License-Identifier: Apache-2.0
// What a server of the shared store is looked at for when it is connected to. Nothing of it keeps the gateway
// from serving: what is found is a metric and a log line.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string_view>

#include "redis/connection.hpp"

namespace weir::store {

enum class Finding : std::uint8_t {
  no_scripts,     // the account may not EVAL
  evicts,         // maxmemory with a policy that evicts: counters may vanish
  clock_differs,  // from this host's, by more than a second
  no_cluster,     // asked as a node of a cluster, and it is none
};
inline constexpr std::array kAllFindings{Finding::no_scripts, Finding::evicts, Finding::clock_differs,
                                         Finding::no_cluster};
// As the label of a metric.
std::string_view name_of(Finding finding) noexcept;

// What the last look at any server found. Any thread.
class StoreCheck {
 public:
  bool wants_cluster = false;  // fixed before the first look

  // Some server has answered whether scripts may be run there.
  bool looked() const noexcept { return looked_.load(std::memory_order_acquire); }
  void look_is_done() noexcept { looked_.store(true, std::memory_order_release); }

  bool found(Finding finding) const noexcept {
    return found_[static_cast<std::size_t>(finding)].load(std::memory_order_relaxed);
  }
  void set(Finding finding, bool is) noexcept {
    found_[static_cast<std::size_t>(finding)].store(is, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<bool>, kAllFindings.size()> found_{};
  std::atomic<bool> looked_{false};
};

// Asks; what the account may not ask is left as it was. Where it may not run scripts, it asks for that again
// each second, until it may or the connection ends: nothing else would tell that the right was given.
boost::asio::awaitable<void> look_at(std::shared_ptr<redis::Connection> server,
                                     std::shared_ptr<StoreCheck> check);

}  // namespace weir::store
