// SPDX-License-Identifier: Apache-2.0
// The running gateway: workers, admin listener, reloads, signals. Its control thread is the one that calls
// run(); it reads configuration files and waits for signals, so that workers never block on either.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "admin/admin_server.hpp"
#include "app/counter_desk.hpp"
#include "app/health_thread.hpp"
#include "app/promises.hpp"
#include "app/quota_feed.hpp"
#include "app/quota_shelf.hpp"
#include "app/reload_status.hpp"
#include "app/service_manager.hpp"
#include "app/worker.hpp"
#include "config/load.hpp"
#include "config/watcher.hpp"
#include "store/memory_store.hpp"
#include "telemetry/traffic_history.hpp"

namespace weir::app {

class Gateway {
 public:
  // Requires: loaded.runtime is not null.
  Gateway(QuotaShelf quotas, const config::LoadResult& loaded);
  ~Gateway();

  // Serves until SIGTERM or SIGINT has been drained. Returns an exit code: 2 if a port cannot be had, or a
  // socket that the service manager passed is none of the configuration's.
  int run();

 private:
  bool listen();
  void start_admin();
  void wait_for_stores(std::int64_t deadline_ms);
  void wait_for_signal();
  void on_signal(int signal);
  void reload(std::string_view cause);
  void reject(const std::vector<std::string>& errors);
  void feed_quotas(const pipeline::Runtime& runtime);
  void on_pushed(store::Published published);
  std::shared_ptr<QuotaFeed> feed() const;
  void publish(const config::LoadResult& loaded);
  void note_generation();
  void apply_log_options(const pipeline::Runtime& runtime);
  void begin_drain();
  void wait_for_drain();
  void stop_all();
  void tick();
  void report_alive();
  void report_certificates();
  void report_store_health();
  void report_store_errors(redis::ErrorKind kind);

  // What the admin port shows (gateway_admin.cpp, gateway_live.cpp). Any thread.
  std::string status_json() const;
  std::string why_not_ready() const;
  std::string live_json(std::uint64_t since) const;
  std::string limits_json() const;
  std::string explain_json(pipeline::ProbeRequest request);
  StoresNow stores_now() const;

  QuotaShelf quotas_;
  const config::FixedOptions begun_with_;
  boost::asio::io_context control_{1};
  boost::asio::signal_set signals_;
  boost::asio::steady_timer tick_timer_;
  boost::asio::steady_timer look_timer_;
  std::int64_t drain_deadline_ms_ = 0;
  ReloadStatus status_;
  const ServiceManager service_;
  store::MemoryStore memory_;
  std::shared_ptr<store::LeasePool> leases_;
  std::shared_ptr<store::FleetShare> all_regions_;
  std::shared_ptr<store::LeasePool> parent_leases_;
  std::shared_ptr<store::RegionPools> pools_;
  std::shared_ptr<http::ConnectionBudget> budget_;
  std::shared_ptr<upstream::SharedClusters> clusters_;
  std::shared_ptr<store::FleetShare> fleet_;
  HealthThread health_;
  telemetry::Metrics metrics_;
  telemetry::LogWriters logs_;
  telemetry::TrafficHistory traffic_;
  std::vector<std::unique_ptr<Worker>> workers_;
  const CounterDesk counters_{workers_, memory_, system_clock()};
  config::Watcher watcher_;
  const store::StoreOptions store_options_;  // as the workers have them: a change needs a restart
  mutable std::mutex feed_mutex_;
  std::shared_ptr<QuotaFeed> feed_;  // null while quotas come from a file
  std::unique_ptr<admin::AdminServer> admin_;
  std::int64_t started_wall_ms_ = 0;
  std::int64_t next_certificate_look_s_ = 0;
  store::StoreHealth reported_health_ = store::StoreHealth::healthy;
  std::array<std::uint64_t, redis::kErrorKinds> reported_errors_{};
};

// The label values that this configuration adds to the metrics.
telemetry::ConfiguredNames metric_names(const pipeline::Runtime& runtime);

}  // namespace weir::app
