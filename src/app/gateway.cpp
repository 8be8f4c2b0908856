// SPDX-License-Identifier: Apache-2.0
#include "app/gateway.hpp"

#include <algorithm>
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

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void apply_log_options(const pipeline::Runtime& runtime, telemetry::LogWriters& logs) {
  telemetry::set_log_level(telemetry::log_level_of(runtime.log.level));
  if (const auto opened = logs.configure(runtime.log.access, runtime.log.denials); !opened) {
    telemetry::log_error("log.open",
                         "access and denial logs stay where they are: " + opened.error().message());
  }
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

// The same files, and quotas under the same version: pushing what was pushed before is a new version. A
// certificate that was kept back may be valid by now.
bool is_in_force(const pipeline::Runtime& loaded, const pipeline::Runtime& now) {
  const bool settled = loaded.kept_certificates == 0 && now.kept_certificates == 0;
  return settled && loaded.version == now.version && loaded.quotas.version == now.quotas.version &&
         loaded.quotas.source == now.quotas.source;
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
  apply_log_options(*loaded.runtime, logs_);
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
    std::cerr << "weir: no `listen` names what the service manager opened: " << joined(unused) << '\n';
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

// All or nothing: what does not load changes nothing, and says why.
void Gateway::reload(std::string_view cause) {
  if (status_.draining) return;
  const auto before = status_.facts().runtime;
  const QuotaShelf::Outcome outcome = quotas_.load(before.get());
  const config::LoadResult& loaded = outcome.loaded;
  watcher_.watch(loaded.files);
  if (loaded.runtime == nullptr) return reject(loaded.errors);
  if (is_in_force(*loaded.runtime, *before)) {
    if (!outcome.refused.empty()) return reject(outcome.refused);
    status_.unchanged(system_clock().wall_ms());
    telemetry::log_info("config.unchanged", std::string(cause) + ": the files are what is in force");
    return;
  }
  publish(loaded);
  telemetry::log_info("config.applied", std::string(cause) + ": version " + loaded.runtime->version +
                                            ", quotas " + loaded.runtime->quotas.version);
  if (!outcome.refused.empty()) reject(outcome.refused);
}

void Gateway::reject(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) telemetry::log_error("config.rejected", error);
  status_.rejected(errors, system_clock().wall_ms());
  metrics_.reload_rejected();
}

// Begins, goes on or stops looking at the store for pushed quotas.
void Gateway::feed_quotas(const pipeline::Runtime& runtime) {
  const bool wanted = runtime.quotas.from_store && store_options_.kind == store::StoreKind::redis;
  QuotaFeedOptions options{runtime.node, runtime.quotas.every};
  if (wanted && feed_ != nullptr && feed_->options() == options) return;
  std::shared_ptr<QuotaFeed> next;
  if (feed_ != nullptr) feed_->stop();
  if (wanted) {
    const auto arrived = [this](store::Published published) { on_pushed(std::move(published)); };
    next = QuotaFeed::start(control_, store_options_, std::move(options), quotas_.offered_version(), arrived);
  }
  const std::lock_guard lock(feed_mutex_);
  feed_ = std::move(next);
}

void Gateway::on_pushed(store::Published published) {
  const std::string version = published.version;
  std::string why;
  auto quotas = config::read_pushed(version, published.at_ms, std::move(published.document), why);
  if (!quotas) return reject({"pushed quotas " + version + " " + why});
  quotas_.offer(std::move(*quotas));
  reload("pushed quotas " + version);
}

std::shared_ptr<QuotaFeed> Gateway::feed() const {
  const std::lock_guard lock(feed_mutex_);
  return feed_;
}

void Gateway::publish(const config::LoadResult& loaded) {
  const auto needs_restart = config::restart_needed(begun_with_, *loaded.runtime);
  if (!needs_restart.empty()) {
    telemetry::log_warn("config.restart_needed", "takes effect after a restart: " + joined(needs_restart));
  }
  for (const std::string& warning : loaded.warnings) telemetry::log_warn("config.warning", warning);
  apply_log_options(*loaded.runtime, logs_);
  metrics_.configure(metric_names(*loaded.runtime));
  clusters_->update(loaded.runtime->clusters);
  health_.update();
  for (const auto& worker : workers_) worker->publish(loaded.runtime);
  admin_->renew(loaded.runtime->admin_tls);
  status_.applied(loaded.runtime, needs_restart, system_clock().wall_ms());
  note_generation();
  feed_quotas(*loaded.runtime);
}

void Gateway::note_generation() {
  const ReloadStatus::Facts facts = status_.facts();
  metrics_.reload_accepted(facts.generation, facts.applied_wall_ms);
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
