// SPDX-License-Identifier: Apache-2.0
// One worker: a thread with its own event loop, listening sockets, upstream connections and store connection.
// A connection never leaves its worker, so workers share nothing but the counters, the process's connection
// budget and the telemetry they each write their own part of.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <thread>

#include "app/request_log.hpp"
#include "app/store_stack.hpp"
#include "http/server.hpp"
#include "net/event_loop.hpp"
#include "pipeline/gateway_handler.hpp"
#include "pipeline/runtime_slot.hpp"
#include "pipeline/slot_keeper.hpp"
#include "upstream/forwarders.hpp"
#include "upstream/shared_cluster.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {

// What the workers of one process share. Everything in it is thread-safe.
struct SharedParts {
  const Clock& clock;
  store::MemoryStore& memory;
  std::shared_ptr<http::ConnectionBudget> budget;
  std::shared_ptr<upstream::SharedClusters> clusters;
  telemetry::Metrics& metrics;
  telemetry::LogWriters& logs;
  std::shared_ptr<store::FleetShare> fleet;
  std::shared_ptr<store::LeasePool> leases;        // null: every request is counted exactly
  std::shared_ptr<store::FleetShare> all_regions;  // null, all three: there is no parent store
  std::shared_ptr<store::LeasePool> parent_leases;
  std::shared_ptr<store::RegionPools> pools;
};

class Worker {
 public:
  Worker(std::size_t index, SharedParts shared, const std::shared_ptr<const pipeline::Runtime>& runtime);
  ~Worker();  // stops and joins
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Before start(). Returns the port in use. `inherited`: a socket that listens there already (taken), or -1.
  Result<std::uint16_t> listen(const pipeline::Listener& at, int inherited) {
    return inherited < 0 ? server_.listen(at.host, at.port) : server_.listen_on(inherited, at.host, at.port);
  }
  void start();

  // Any thread; takes effect on the worker's own.
  void publish(std::shared_ptr<const pipeline::Runtime> runtime);
  void drain();
  void stop();
  void join();

  // Readable from any thread.
  bool idle() const noexcept { return server_.idle() && stores_.nothing_on_its_way(); }
  // When its loop last turned, on the monotonic clock; 0 before it runs.
  std::int64_t last_tick_ms() const noexcept { return last_tick_ms_.load(std::memory_order_relaxed); }
  const http::ServerStats& server_stats() const noexcept { return server_.stats(); }
  const upstream::Forwarders& forwarders() const noexcept { return forwarders_; }
  StoreStack& stores() noexcept { return stores_; }

  // Runs `work` on the worker's thread.
  template <class Work>
  void post(Work work) {
    boost::asio::post(io_, std::move(work));
  }
  boost::asio::io_context& io() noexcept { return io_; }

 private:
  void run();
  void renew_slots();
  void tick();

  SharedParts shared_;
  boost::asio::io_context io_{1};
  net::EventLoop loop_;
  upstream::Forwarders forwarders_;
  StoreStack stores_;
  pipeline::RuntimeSlot slot_;
  pipeline::SlotKeeper slots_;
  RequestLog log_;
  pipeline::GatewayHandler handler_;
  http::Server server_;
  boost::asio::steady_timer renew_timer_;
  boost::asio::steady_timer tick_timer_;
  bool stopping_ = false;
  std::atomic<std::int64_t> last_tick_ms_{0};
  std::thread thread_;
};

}  // namespace weir::app
