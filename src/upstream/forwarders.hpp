// SPDX-License-Identifier: Apache-2.0
// All clusters of one worker, by name: their endpoints, pooled connections and counts. One per worker; every
// call but the statistics belongs to the worker's thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/event_loop.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

class Cluster;
class SharedClusters;

// Counts of one endpoint on one worker; written by the worker, readable by any thread.
struct EndpointStats {
  std::atomic<std::int64_t> outstanding{0};               // requests being forwarded
  std::atomic<std::int64_t> connections{0};               // open, idle ones included
  std::atomic<std::int64_t> idle_connections{0};          // pooled
  std::atomic<std::uint64_t> requests{0};                 // attempts begun
  std::atomic<std::uint64_t> connects{0};                 // new connections made
  std::atomic<std::uint64_t> response_us_sum{0};          // request sent -> response head, over all answers
  std::atomic<std::uint64_t> responses{0};                // heads received
  std::atomic<std::uint64_t> ended[kForwardErrors] = {};  // attempts by how they ended
};

// Why a request was tried again. stale: a pooled connection had died meanwhile.
enum class RetryReason : std::uint8_t { stale, connect, reset, timeout, status };
inline constexpr std::array<std::string_view, 5> kRetryReasons{"stale", "connect", "reset", "timeout",
                                                               "status"};
// What became of it. over_budget: it was not tried again.
enum class RetryOutcome : std::uint8_t { success, failure, over_budget };
inline constexpr std::array<std::string_view, 3> kRetryOutcomes{"success", "failure", "over_budget"};

// Counts of one cluster on one worker, likewise.
struct ClusterStats {
  std::atomic<std::uint64_t> retries[kRetryReasons.size()][kRetryOutcomes.size()] = {};
};

class Forwarders {
 public:
  // `shared`: what the workers of this process share.
  Forwarders(net::EventLoop& loop, std::shared_ptr<SharedClusters> shared);
  explicit Forwarders(net::EventLoop& loop);  // a process of one worker
  ~Forwarders();                              // calls stop()
  Forwarders(const Forwarders&) = delete;
  Forwarders& operator=(const Forwarders&) = delete;

  // Makes the clusters be exactly `clusters`. Endpoints that stay keep their connections and counts. A
  // cluster or endpoint that is gone finishes what it is doing; its idle connections close.
  void update(const std::vector<ClusterOptions>& clusters);

  // nullptr: no such cluster. The pointer is valid until the cluster is removed and its last forward() is
  // over; take it when the request starts and call forward() without waiting in between.
  Forwarder* find(std::string_view cluster) noexcept;

  // Closes idle connections and cancels what is being forwarded (answers 502 where nothing was sent yet).
  void stop() noexcept;

  // Calls `visit` for each endpoint ("host:port"). Any thread; do not call back into this object.
  void each_endpoint(const std::function<void(std::string_view cluster, std::string_view endpoint,
                                              const EndpointStats& stats)>& visit) const;
  void each_cluster(
      const std::function<void(std::string_view cluster, const ClusterStats& stats)>& visit) const;

 private:
  net::EventLoop& loop_;
  std::shared_ptr<SharedClusters> shared_;
  mutable std::mutex mutex_;  // guards the list against each_endpoint on other threads
  std::vector<std::shared_ptr<Cluster>> clusters_;
};

}  // namespace weir::upstream
