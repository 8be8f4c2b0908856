// SPDX-License-Identifier: Apache-2.0
// What the log says of the shared store: each change of its health once, and each kind of failure once per
// interval.
#include "app/store_report.hpp"

#include <algorithm>

#include "app/gateway.hpp"
#include "telemetry/log.hpp"

namespace weir::app {
namespace {

using redis::ErrorKind;

constexpr std::string_view kMayNotRunScripts =
    "NOPERM: the account may not run scripts; it needs +eval +evalsha and all keys w1:* and w2:*";

// The failure in the store's own words, and what to do about it.
std::string_view advice(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::unavailable:
      return "unreachable: no connection can be had, or it broke off";
    case ErrorKind::timeout:
      return "no answer within store.timeout";
    case ErrorKind::loading:
      return "LOADING: it is reading its data after a start";
    case ErrorKind::oom:
      return "OOM: it is out of memory; give it a store of its own with maxmemory-policy noeviction";
    case ErrorKind::readonly:
      return "READONLY: it is a replica now; connecting again";
    case ErrorKind::noauth:
      return "NOAUTH or WRONGPASS: store.username or store.password_file is not accepted";
    case ErrorKind::noperm:
      return kMayNotRunScripts;
    case ErrorKind::moved:
    case ErrorKind::ask:
      return "MOVED or ASK: this is a cluster; write store.cluster: true";
    case ErrorKind::crossslot:
      return "CROSSSLOT: this is a cluster; write store.cluster: true";
    case ErrorKind::try_again:
      return "TRYAGAIN: a slot is moving between nodes of the cluster";
    case ErrorKind::cluster_down:
      return "CLUSTERDOWN: a slot of the cluster has no node";
    case ErrorKind::wrong_type:
      return "WRONGTYPE: something else writes keys named w2:*";
    case ErrorKind::tls:
      return "no TLS handshake: see store.tls (ca, server_name, certificate)";
    case ErrorKind::protocol:
      return "an answer that cannot be one";
    case ErrorKind::noscript:
    case ErrorKind::other:
      break;
  }
  return "an error of another kind";
}

// Once per finding and server that it was found on, in the store's own words and what to do.
std::string_view advice(store::Finding finding) {
  switch (finding) {
    case store::Finding::no_scripts:
      return kMayNotRunScripts;
    case store::Finding::evicts:
      return "maxmemory-policy evicts keys: counters may be forgotten; give it a store of its own with "
             "noeviction";
    case store::Finding::clock_differs:
      return "its clock differs from this host's by more than a second; windows are the store's";
    case store::Finding::no_cluster:
      return "cluster support is off there: write store.cluster: false";
  }
  return "";
}

void report_store_findings(const store::StoreCheck& check) {
  for (const store::Finding finding : store::kAllFindings) {
    if (!check.found(finding)) continue;
    const std::string cause = "store.self_test." + std::string(store::name_of(finding));
    telemetry::log_limited(telemetry::LogLevel::warn, cause,
                           "looking at the shared store: " + std::string(advice(finding)));
  }
}

bool runs_no_scripts(const store::StoreCheck* check) {
  return check != nullptr && check->found(store::Finding::no_scripts);
}

}  // namespace

std::string store_fault(const Workers& workers) {
  const StoreStack& stores = workers.front()->stores();
  const auto of = [](std::string_view store) { return std::string(store) + std::string(kMayNotRunScripts); };
  if (runs_no_scripts(stores.check())) return of("the shared store: ");
  if (stores.parent() != nullptr && runs_no_scripts(stores.parent()->check()))
    return of("the parent store: ");
  return {};
}

void Gateway::report_store_health() {
  if (workers_.front()->stores().redis() == nullptr) return;
  auto worst = store::StoreHealth::healthy;
  for (const auto& worker : workers_) {
    worst = std::max(worst, worker->stores().ladder()->stats().health.load());
  }
  if (worst != reported_health_) {
    reported_health_ = worst;
    const bool healthy = worst == store::StoreHealth::healthy;
    telemetry::log_line(healthy ? telemetry::LogLevel::info : telemetry::LogLevel::warn, "store.health",
                        healthy
                            ? "the shared store answers again"
                            : "the shared store is ill: limits are kept by each layer's on_store_failure");
  }
  report_store_findings(*workers_.front()->stores().check());
  for (int kind = 1; kind < redis::kErrorKinds; ++kind) report_store_errors(static_cast<ErrorKind>(kind));
}

void Gateway::report_store_errors(ErrorKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  std::uint64_t count = 0;
  for (const auto& worker : workers_) count += worker->stores().redis()->stats().errors[index].load();
  std::uint64_t& reported = reported_errors_[index];
  if (count == reported) return;
  const std::string cause = "store." + std::string(redis::name_of(kind));
  telemetry::log_limited(
      telemetry::LogLevel::warn, cause,
      std::to_string(count - reported) + " call(s) of the shared store failed: " + std::string(advice(kind)));
  reported = count;
}

}  // namespace weir::app
