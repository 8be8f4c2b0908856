// SPDX-License-Identifier: Apache-2.0
// Active health checks: a GET of the cluster's path to every endpoint, each `interval` (jittered by a tenth
// either way, so that gateways do not check in step), on a connection of its own. A status of the wanted
// range within `timeout` is good. Also ends ejections that are over. One per process; one thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/event_loop.hpp"
#include "net/stream.hpp"
#include "upstream/shared_cluster.hpp"

namespace weir::upstream {

class HealthChecker {
 public:
  static constexpr std::int64_t kTickMs = 250;  // how often ejections are looked at

  HealthChecker(net::EventLoop& loop, std::shared_ptr<SharedClusters> clusters);
  ~HealthChecker();

  // Makes the checks be those of the clusters as they are now. Checks that stay keep their rhythm.
  void update();
  void stop() noexcept;

 private:
  struct Check;

  static boost::asio::awaitable<void> keep_checking(std::shared_ptr<Check> check);
  static boost::asio::awaitable<std::string> look(Check& check, const HealthOptions& options);
  static boost::asio::awaitable<std::string> ask(Check& check, net::Stream& wire,
                                                 const HealthOptions& options, std::int64_t until);
  void tick();

  net::EventLoop& loop_;
  std::shared_ptr<SharedClusters> clusters_;
  std::vector<std::shared_ptr<Check>> checks_;
  net::Timer tick_timer_;
};

}  // namespace weir::upstream
