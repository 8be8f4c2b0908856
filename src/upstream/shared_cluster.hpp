// SPDX-License-Identifier: Apache-2.0
// What the workers of one process share of a cluster: the health of its endpoints, and who may use how many
// connections. All of it is thread-safe. Without a cap and without failures a request costs one relaxed load.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/waiter.hpp"
#include "upstream/endpoint_health.hpp"
#include "weir/base/clock.hpp"
#include "weir/upstream/options.hpp"

namespace weir::upstream {

// One endpoint. Its atomics may be read at any time; SharedCluster writes them under its lock.
struct SharedEndpoint {
  explicit SharedEndpoint(std::string name_) : name(std::move(name_)) {}
  const std::string name;
  std::atomic<std::int64_t> out_until_ms{0};   // monotonic; 0: in service
  std::atomic<std::int64_t> back_since_ms{0};  // since when again; 0: always was
  std::atomic<int> failures{0};                // requests that failed in a row
  std::atomic<std::size_t> in_use{0};          // of max_connections, where that is set
  std::atomic<std::uint64_t> ejections{0};
  std::atomic<std::uint64_t> checks_passed{0};
  std::atomic<std::uint64_t> checks_failed{0};

  bool in_service(std::int64_t now_ms) const noexcept {
    return now_ms >= out_until_ms.load(std::memory_order_relaxed);
  }

 private:
  friend class SharedCluster;
  EndpointHealth health;
};

// A place in the queue for a connection. Made by the coroutine that waits; granted by whoever gives one back.
struct QueueTicket {
  QueueTicket(boost::asio::io_context& io_, net::Waiter& waiter_) : io(io_), waiter(&waiter_) {}
  boost::asio::io_context& io;
  net::Waiter* waiter;                      // belongs to the waiting thread, which clears it when it leaves
  std::shared_ptr<SharedEndpoint> granted;  // guarded by the cluster's lock
};

class SharedCluster {
 public:
  SharedCluster(const Clock& clock, const ClusterOptions& options);

  const std::string& name() const noexcept { return name_; }
  void update(const ClusterOptions& options);
  // Made on first sight, so that workers and this object may learn of a new configuration in any order.
  std::shared_ptr<SharedEndpoint> endpoint(const EndpointOptions& options);
  std::vector<std::shared_ptr<SharedEndpoint>> endpoints() const;
  ClusterOptions options() const;

  // --- health ------------------------------------------------------------------------------------------
  void request_failed(SharedEndpoint& endpoint);
  void request_succeeded(SharedEndpoint& endpoint) {
    if (endpoint.failures.load(std::memory_order_relaxed) != 0) forgive(endpoint);
  }
  void check_passed(SharedEndpoint& endpoint);
  void check_failed(SharedEndpoint& endpoint, std::string_view why);
  void tick();  // ends ejections that are over; every second or so

  // --- connections (only where max_connections is set) -----------------------------------------------------
  // True: one more request may go to the endpoint; give it back with release().
  bool try_acquire(SharedEndpoint& endpoint);
  // Hands the place to the first in the queue, or frees it.
  void release(const std::shared_ptr<SharedEndpoint>& endpoint);
  enum class Queued : std::uint8_t { waits, granted, full };
  Queued enqueue(const std::shared_ptr<QueueTicket>& ticket);
  // Leaves the queue; returns what was granted, if anything.
  std::shared_ptr<SharedEndpoint> leave(const std::shared_ptr<QueueTicket>& ticket);

  std::size_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  std::atomic<std::uint64_t> queue_full{0};
  std::atomic<std::uint64_t> queue_timeouts{0};

 private:
  void forgive(SharedEndpoint& endpoint);
  EndpointHealth::Leave may_eject(const SharedEndpoint& endpoint) const noexcept;
  void publish(SharedEndpoint& endpoint) noexcept;
  void report(const SharedEndpoint& endpoint, std::string_view what) const;
  bool take_place(SharedEndpoint& endpoint) noexcept;
  bool is_wanted(const SharedEndpoint& endpoint) const noexcept;
  void serve_queue(const std::shared_ptr<SharedEndpoint>& endpoint);

  const Clock& clock_;
  const std::string name_;
  mutable std::mutex mutex_;
  ClusterOptions options_;
  std::vector<std::shared_ptr<SharedEndpoint>> endpoints_;
  std::list<std::shared_ptr<QueueTicket>> queue_;
  std::atomic<std::size_t> waiting_{0};
};

// All clusters of the process, by name.
class SharedClusters {
 public:
  explicit SharedClusters(const Clock& clock) : clock_(clock) {}

  void update(const std::vector<ClusterOptions>& clusters);
  std::shared_ptr<SharedCluster> cluster(const ClusterOptions& options);
  std::vector<std::shared_ptr<SharedCluster>> all() const;
  const Clock& clock() const noexcept { return clock_; }

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<SharedCluster>> clusters_;
};

// "host:port", IPv6 in brackets, "unix:/path".
std::string endpoint_name(const EndpointOptions& options);

}  // namespace weir::upstream
