// SPDX-License-Identifier: Apache-2.0
// A gateway's configuration on its way in: files that changed, quotas that were pushed.
#include <boost/algorithm/string/join.hpp>

#include "app/gateway.hpp"
#include "app/gauges.hpp"
#include "telemetry/log.hpp"

namespace weir::app {
namespace {

// The same files, and quotas under the same version: pushing what was pushed before is a new version. A
// certificate that was kept back may be valid by now.
bool is_in_force(const pipeline::Runtime& loaded, const pipeline::Runtime& now) {
  const bool settled = loaded.kept_certificates == 0 && now.kept_certificates == 0;
  return settled && loaded.version == now.version && loaded.quotas.version == now.quotas.version &&
         loaded.quotas.source == now.quotas.source;
}

}  // namespace

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
    telemetry::log_warn("config.restart_needed",
                        "takes effect after a restart: " + boost::algorithm::join(needs_restart, ", "));
  }
  for (const std::string& warning : loaded.warnings) telemetry::log_warn("config.warning", warning);
  apply_log_options(*loaded.runtime);
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

void Gateway::apply_log_options(const pipeline::Runtime& runtime) {
  telemetry::set_log_level(telemetry::log_level_of(runtime.log.level));
  if (const auto opened = logs_.configure(runtime.log.access, runtime.log.denials); !opened) {
    telemetry::log_error("log.open",
                         "access and denial logs stay where they are: " + opened.error().message());
  }
}

}  // namespace weir::app
