// SPDX-License-Identifier: Apache-2.0
// A gateway's life: made, listening, ready, draining, stopped. Reloads are in gateway_reload.cpp.
#include "app/gateway.hpp"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <csignal>
#include <iostream>
#include <thread>

#include "app/command_line.hpp"
#include "app/gauges.hpp"
#include "app/inherited_sockets.hpp"
#include "app/store_report.hpp"
#include "telemetry/log.hpp"

namespace weir::app {
namespace {

constexpr std::chrono::milliseconds kDrainLook(20);
constexpr std::int64_t kStoreWaitMs = 2000;
constexpr std::int64_t kCertificateLookSeconds = 60 * 60;

std::size_t worker_count(const pipeline::Runtime& runtime) {
  return runtime.workers != 0 ? runtime.workers : std::max(1U, std::thread::hardware_concurrency());
}

std::shared_ptr<store::LeasePool> make_lease_pool(const store::StoreOptions& options,
                                                  std::shared_ptr<const store::FleetShare> fleet) {
  const bool exact = options.lease.counting == store::Counting::exact;
  if (exact || options.kind == store::StoreKind::memory) return nullptr;
  return std::make_shared<store::LeasePool>(options.lease, std::move(fleet));
}

// A gateway's own leases of what its region holds are like those of its region's counters. But a region has
// nothing to lend on credit.
store::LeaseOptions leases_from_region(store::LeaseOptions options) {
  options.debt_permille = 0;
  return options;
}

}  // namespace

Gateway::Gateway(QuotaShelf quotas, const config::LoadResult& loaded)
    : quotas_(std::move(quotas)),
      begun_with_(config::fixed_options(*loaded.runtime)),
      signals_(control_, SIGINT, SIGTERM, SIGHUP),
      tick_timer_(control_),
      look_timer_(control_),
      memory_(loaded.runtime->store.max_keys, system_clock()),
      budget_(std::make_shared<http::ConnectionBudget>()),
      clusters_(std::make_shared<upstream::SharedClusters>(system_clock())),
      health_(clusters_),
      metrics_(worker_count(*loaded.runtime), WEIR_VERSION),
      watcher_(control_, [this] { reload("file changed"); }),
      store_options_(loaded.runtime->store),
      started_wall_ms_(system_clock().wall_ms()) {
  apply_log_options(*loaded.runtime);
  metrics_.configure(metric_names(*loaded.runtime));
  clusters_->update(loaded.runtime->clusters);
  const std::size_t workers = worker_count(*loaded.runtime);
  fleet_ = std::make_shared<store::FleetShare>(workers, loaded.runtime->store.instances);
  leases_ = make_lease_pool(loaded.runtime->store, fleet_);
  if (const auto& parent = loaded.runtime->store.parent) {
    all_regions_ = std::make_shared<store::FleetShare>(workers, parent->instances);
    parent_leases_ = std::make_shared<store::LeasePool>(leases_from_region(loaded.runtime->store.lease));
    pools_ = std::make_shared<store::RegionPools>();
  }
  const SharedParts shared{system_clock(), memory_, budget_,      clusters_,      metrics_, logs_,
                           fleet_,         leases_, all_regions_, parent_leases_, pools_};
  for (std::size_t n = 0; n < workers; ++n) {
    workers_.push_back(std::make_unique<Worker>(n, shared, loaded.runtime));
  }
  status_.applied(loaded.runtime, {}, started_wall_ms_);
  note_generation();
  watcher_.watch(loaded.files);
  feed_quotas(*loaded.runtime);
}

Gateway::~Gateway() = default;

int Gateway::run() {
  std::signal(SIGPIPE, SIG_IGN);
  signals_.add(SIGUSR1);
  if (!listen()) return kCouldNotRun;
  for (const auto& worker : workers_) worker->start();
  health_.start();
  wait_for_signal();
  tick();
  wait_for_stores(system_clock().monotonic_ms() + kStoreWaitMs);
  telemetry::log_info("gateway.start",
                      "weir " WEIR_VERSION " serves with " + std::to_string(workers_.size()) + " worker(s)");
  control_.run();
  return kGood;
}

// Every port first, the admin's too, before anything runs: a port that is taken ends the start with one clear
// line.
bool Gateway::listen() {
  const auto runtime = status_.facts().runtime;
  const auto refuse = [](const pipeline::Listener& at, const error_code& error) {
    std::cerr << "weir: cannot listen on " << at.host << ':' << at.port << ": " << error.message() << '\n';
    return false;
  };
  InheritedSockets inherited;
  for (const pipeline::Listener& at : runtime->listeners) {
    for (const auto& worker : workers_) {
      const auto socket = inherited.find(at);
      if (!socket) return refuse(at, socket.error());
      if (const auto port = worker->listen(at, *socket); !port) return refuse(at, port.error());
    }
  }
  if (const auto unused = inherited.unused(); !unused.empty()) {
    std::cerr << "weir: no `listen` names what the service manager opened: "
              << boost::algorithm::join(unused, ", ") << '\n';
    return false;
  }
  try {
    start_admin();
  } catch (const boost::system::system_error& error) {
    return refuse(runtime->admin, error.code());
  }
  return true;
}

// Ready once every worker has reached its store and knows that it may count there, or has had its time to:
// the gateway serves with the store absent, but must not count the first requests locally only because
// connecting takes a moment. A store that is there and lets it count nothing would never be noticed: then it
// is not ready, until someone gives it the right. The service manager, who would start it again and again, is
// told that it runs.
void Gateway::wait_for_stores(std::int64_t deadline_ms) {
  const auto looked = [](const store::StoreCheck* check) { return check == nullptr || check->looked(); };
  const auto reached = [&looked](const auto& worker) {
    const StoreStack& stores = worker->stores();
    const bool connected = stores.redis() == nullptr || stores.redis()->connection_stats().ready.load();
    return connected && looked(stores.check());
  };
  const bool waited = system_clock().monotonic_ms() >= deadline_ms;
  const std::string fault = store_fault(workers_);
  if (fault.empty() && (waited || std::ranges::all_of(workers_, reached))) {
    status_.ready = true;
    service_.ready("serving");
    return;
  }
  if (waited) {
    service_.ready("serving, not ready: " + fault);
    deadline_ms += kStoreWaitMs;
  }
  look_timer_.expires_after(kDrainLook);
  look_timer_.async_wait([this, deadline_ms](error_code failed) {
    if (!failed && !status_.draining) wait_for_stores(deadline_ms);
  });
}

void Gateway::wait_for_signal() {
  signals_.async_wait([this](error_code failed, int signal) {
    if (failed) return;
    on_signal(signal);
    wait_for_signal();
  });
}

void Gateway::on_signal(int signal) {
  if (signal == SIGUSR1) {
    logs_.reopen();
  } else if (signal == SIGHUP) {
    logs_.reopen();
    service_.reloading();
    reload("SIGHUP");
    service_.ready(status_.facts().last_errors.empty() ? "serving"
                                                       : "serving; the last reload was refused, see the log");
  } else if (status_.draining) {
    stop_all();
  } else {
    begin_drain();
  }
}

// Order: tell the balancer first (/readyz), then stop accepting, then wait for what runs.
void Gateway::begin_drain() {
  status_.draining = true;
  status_.ready = false;
  service_.stopping();
  watcher_.stop();
  if (feed_ != nullptr) feed_->stop();
  const auto drain_ms = status_.facts().runtime->drain_ms;
  telemetry::log_info("gateway.drain",
                      "finishing what runs, for at most " + std::to_string(drain_ms) + " ms");
  drain_deadline_ms_ = system_clock().monotonic_ms() + drain_ms;
  for (const auto& worker : workers_) worker->drain();
  wait_for_drain();
}

void Gateway::wait_for_drain() {
  const auto idle = [](const auto& worker) { return worker->idle(); };
  if (std::ranges::all_of(workers_, idle) || system_clock().monotonic_ms() >= drain_deadline_ms_) {
    return stop_all();
  }
  look_timer_.expires_after(kDrainLook);
  look_timer_.async_wait([this](error_code failed) {
    if (!failed) wait_for_drain();
  });
}

void Gateway::stop_all() {
  health_.stop();
  for (const auto& worker : workers_) worker->stop();
  for (const auto& worker : workers_) worker->join();
  if (admin_) admin_->stop();
  watcher_.stop();
  if (feed_ != nullptr) feed_->stop();
  telemetry::log_info("gateway.stop", "done");
  control_.stop();
}

// A loop that has not turned for half of the watchdog's time leaves it unfed.
void Gateway::report_alive() {
  if (service_.watchdog_ms() == 0) return;
  const std::int64_t oldest = system_clock().monotonic_ms() - service_.watchdog_ms() / 2;
  const auto turns = [oldest](const auto& worker) { return worker->last_tick_ms() > oldest; };
  if (std::ranges::all_of(workers_, turns)) service_.alive();
}

// Also for a certificate that was good when it was loaded.
void Gateway::report_certificates() {
  const std::int64_t now_s = system_clock().wall_ms() / 1000;
  if (now_s < next_certificate_look_s_) return;
  next_certificate_look_s_ = now_s + kCertificateLookSeconds;
  for (const std::string& fault : certificate_faults(*status_.facts().runtime, now_s)) {
    telemetry::log_error("tls.certificate", fault);
  }
}

void Gateway::tick() {
  tick_timer_.expires_after(std::chrono::seconds(1));
  tick_timer_.async_wait([this](error_code failed) {
    if (failed) return;
    telemetry::log_tick();
    traffic_.sample(metrics_, system_clock().wall_ms());
    report_store_health();
    report_alive();
    report_certificates();
    tick();
  });
}

}  // namespace weir::app
