// SPDX-License-Identifier: Apache-2.0
// What the admin port and the scrape show of the running gateway.
#include <algorithm>
#include <array>

#include "app/ask_worker.hpp"
#include "app/gateway.hpp"
#include "app/gauges.hpp"
#include "app/json_object.hpp"
#include "app/store_report.hpp"
#include "net/tls_context.hpp"
#include "pipeline/explain.hpp"
#include "pipeline/text.hpp"
#include "telemetry/log.hpp"

namespace weir::app {
namespace {

constexpr std::array<std::string_view, 3> kCountingNames{"exact", "auto", "leased"};
constexpr std::array<std::string_view, 4> kDemandNames{"none", "none", "optional", "required"};

// The parent store of all regions, if there is one.
void append_parent(JsonObject& object, const Workers& workers) {
  if (workers.front()->stores().parent() == nullptr) return;
  std::int64_t connected = 0;
  auto worst = store::StoreHealth::healthy;
  for (const auto& worker : workers) {
    connected += worker->stores().parent()->redis().connection_stats().ready.load() ? 1 : 0;
    worst = std::max(worst, worker->stores().parent()->ladder().stats().health.load());
  }
  object.text("parent_health", name_of(worst));
  object.number("parent_workers_connected", connected);
}

void append_store(std::string& out, const pipeline::Runtime& runtime, const store::MemoryStore& memory,
                  const Workers& workers, const store::FleetShare& fleet) {
  JsonObject object(out);
  object.text("kind", runtime.store.kind == store::StoreKind::memory ? "memory" : "redis");
  object.number("local_keys", static_cast<std::int64_t>(memory.live_keys()));
  if (!workers.empty() && workers.front()->stores().redis() != nullptr) {
    std::int64_t connected = 0;
    std::int64_t open = 0;
    auto worst = store::StoreHealth::healthy;
    for (const auto& worker : workers) {
      connected += worker->stores().redis()->connection_stats().ready.load() ? 1 : 0;
      worst = std::max(worst, worker->stores().ladder()->stats().health.load());
      open += worker->stores().ladder()->stats().breaker_open.load() ? 1 : 0;
    }
    object.text("health", name_of(worst));
    object.number("workers_connected", connected);
    object.number("breakers_open", open);
    object.number("live_instances", static_cast<std::int64_t>(fleet.heard()));
    append_parent(object, workers);
    object.text("counting", kCountingNames[static_cast<std::size_t>(runtime.store.lease.counting)]);
  }
  object.end();
}

void append_quotas(std::string& out, const pipeline::QuotaOrigin& quotas, const QuotaFeed* feed,
                   std::int64_t now_ms) {
  JsonObject object(out);
  object.text("version", quotas.version).text("source", pipeline::name_of(quotas.source));
  if (quotas.pushed_wall_ms != 0) object.number("pushed_age_s", (now_ms - quotas.pushed_wall_ms) / 1000);
  if (feed != nullptr) {
    object.text("published", feed->published_version());
    const std::int64_t answered = feed->answered_wall_ms();
    if (answered != 0) object.number("source_age_s", (now_ms - answered) / 1000);
  }
  object.end();
}

// What is spoken there, and with which certificates.
void append_listener(std::string& out, const pipeline::Listener& at, const net::TlsServerContext* tls,
                     std::int64_t now_s) {
  JsonObject object(out);
  object.text("address", at.host + ':' + std::to_string(at.port)).flag("tls", tls != nullptr);
  if (tls != nullptr) {
    object.text("client_certificate", kDemandNames[static_cast<std::size_t>(net::tls_demands(tls))]);
    object.key("certificates");
    append_json_array(out, tls->options().certificates, [&](const auto& certificate) {
      JsonObject one(out);
      one.text("file", certificate->file())
          .text("not_after", certificate->not_after())
          .flag("valid", certificate->validity_fault(now_s).empty())
          .end();
    });
  }
  object.end();
}

// The admin port's is the last.
void append_listeners(std::string& out, const pipeline::Runtime& runtime, std::int64_t now_s) {
  std::vector<std::pair<pipeline::Listener, const net::TlsServerContext*>> all;
  for (const pipeline::Listener& at : runtime.listeners) {
    const auto speaks = std::ranges::find_if(runtime.server.listeners, [&at](const auto& one) {
      return one.host == at.host && one.port == at.port;
    });
    all.emplace_back(at, speaks == runtime.server.listeners.end() ? nullptr : speaks->tls.get());
  }
  all.emplace_back(runtime.admin, runtime.admin_tls.get());
  append_json_array(out, all, [&](const auto& one) { append_listener(out, one.first, one.second, now_s); });
}

std::string_view state_of(const upstream::SharedEndpoint& endpoint, std::int64_t now_ms) {
  if (endpoint.in_service(now_ms)) return "in_service";
  const bool checks_say_so = endpoint.out_until_ms.load() == upstream::EndpointHealth::kForever;
  return checks_say_so ? "unhealthy" : "ejected";
}

void append_upstreams(std::string& out, const upstream::SharedClusters& clusters) {
  const std::int64_t now = clusters.clock().monotonic_ms();
  JsonObject object(out);
  for (const auto& cluster : clusters.all()) {
    object.key(cluster->name());
    JsonObject endpoints(out);
    for (const auto& endpoint : cluster->endpoints())
      endpoints.text(endpoint->name, state_of(*endpoint, now));
    endpoints.end();
  }
  object.end();
}

// The peek runs on a worker, since a store belongs to one; the explanation is shared with it, in case the
// admin thread stops waiting first.
boost::asio::awaitable<bool> peek(std::shared_ptr<pipeline::Explanation> explanation,
                                  limit::CounterStore& store, std::shared_ptr<const pipeline::Runtime>) {
  co_await store.peek(explanation->charges);
  co_return !explanation->charges.store_error;
}

}  // namespace

telemetry::ConfiguredNames metric_names(const pipeline::Runtime& runtime) {
  telemetry::ConfiguredNames names;
  for (const limit::Layer& layer : runtime.chain.layers()) names.layers.push_back(layer.name);
  for (const auto& pattern : runtime.extractor.options().apis) names.apis.push_back(pattern.text);
  for (const auto& dimension : runtime.extractor.options().dimensions)
    names.dimensions.push_back(dimension.name);
  names.callers = runtime.named_callers;
  for (const auto& cluster : runtime.clusters) {
    for (const auto& endpoint : cluster.endpoints) {
      names.endpoints.emplace_back(cluster.name, upstream::endpoint_name(endpoint));
    }
  }
  return names;
}

void Gateway::start_admin() {
  metrics_.add_source([this] { return connection_families(workers_, *budget_); });
  metrics_.add_source([this] { return tls_families(workers_); });
  metrics_.add_source(
      [this] { return certificate_families(*status_.facts().runtime, system_clock().wall_ms() / 1000); });
  metrics_.add_source([this] { return memory_families(memory_); });
  metrics_.add_source([this] { return logs_.families(); });
  metrics_.add_source([this] { return redis_families(workers_); });
  metrics_.add_source([this] { return ladder_families(workers_, *fleet_); });
  metrics_.add_source([this] { return lease_families(workers_, leases_.get()); });
  metrics_.add_source(
      [this] { return quota_families(*status_.facts().runtime, feed().get(), system_clock().wall_ms()); });
  metrics_.add_source(
      [this] { return parent_families(workers_, pools_.get(), system_clock().monotonic_ms()); });
  metrics_.add_source([this] { return upstream_families(workers_, *clusters_); });
  metrics_.add_source(
      [this] { return override_families(status_.facts().runtime->chain, system_clock().wall_ms()); });
  const auto runtime = status_.facts().runtime;
  admin::AdminSource source;
  source.metrics = [this] { return metrics_.exposition(); };
  source.not_ready = [this] { return why_not_ready(); };
  source.status = [this] { return status_json(); };
  source.config = [this] { return status_.facts().runtime->printable; };
  source.top = [this] { return metrics_.rankings(); };
  source.limits = [this] { return limits_json(); };
  source.live = [this](std::uint64_t since) { return live_json(since); };
  source.read_counter = [this](const admin::CounterRequest& request) {
    return counters_.read(status_.facts().runtime, request);
  };
  source.reset_counter = [this](const admin::CounterRequest& request, std::string_view peer) {
    return counters_.reset(status_.facts().runtime, request, peer);
  };
  source.explain = [this](pipeline::ProbeRequest request) { return explain_json(std::move(request)); };
  const admin::AdminOptions options{runtime->admin.host, runtime->admin.port, runtime->admin_token,
                                    runtime->admin_tls};
  admin_ = std::make_unique<admin::AdminServer>(options, std::move(source));
}

std::string Gateway::why_not_ready() const {
  if (status_.ready) return {};
  if (status_.draining) return "it drains";
  const std::string fault = store_fault(workers_);
  return fault.empty() ? "it starts: not every worker has reached its store yet" : fault;
}

std::string Gateway::status_json() const {
  const ReloadStatus::Facts facts = status_.facts();
  const std::int64_t now = system_clock().wall_ms();
  std::string out;
  JsonObject object(out);
  object.text("version", WEIR_VERSION)
      .text("node", facts.runtime->node)
      .text("state", status_.draining ? "draining"
                     : status_.ready  ? "ready"
                                      : "starting")
      .text("not_ready", why_not_ready())
      .number("uptime_s", (now - started_wall_ms_) / 1000)
      .number("workers", static_cast<std::int64_t>(workers_.size()))
      .number("connections", budget_->open())
      .number("generation", static_cast<std::int64_t>(facts.generation))
      .text("config_version", facts.runtime->version)
      .number("config_age_s", (now - facts.applied_wall_ms) / 1000)
      .number("reloads_applied", static_cast<std::int64_t>(status_.applied_count()))
      .number("reloads_rejected", static_cast<std::int64_t>(status_.rejected_count()))
      .flag("last_reload_good", facts.rejected_wall_ms == 0)
      .texts("last_reload_errors", facts.last_errors)
      .texts("needs_restart", facts.needs_restart)
      .texts("warnings", facts.runtime->warnings);
  object.key("quotas");
  append_quotas(out, facts.runtime->quotas, feed().get(), now);
  object.key("listeners");
  append_listeners(out, *facts.runtime, now / 1000);
  object.key("upstreams");
  append_upstreams(out, *clusters_);
  object.key("store");
  append_store(out, *facts.runtime, memory_, workers_, *fleet_);
  object.end();
  out += '\n';
  return out;
}

StoresNow Gateway::stores_now() const {
  const auto heard = [](const std::shared_ptr<store::FleetShare>& fleet, std::size_t assumed) {
    return std::max<std::size_t>({fleet->heard(), fleet->heard() == 0 ? assumed : 0, 1});
  };
  StoresNow now{{store_options_, heard(fleet_, store_options_.instances), store::StoreHealth::healthy}, {}};
  if (store_options_.parent != nullptr)
    now.parent.emplace(
        StoreNow{*store_options_.parent, heard(all_regions_, store_options_.parent->instances)});
  const auto worst = [](StoreNow& store, const store::LadderStore& ladder) {
    store.health = std::max(store.health, ladder.stats().health.load());
  };
  for (const auto& worker : workers_) {
    if (const auto* const ladder = worker->stores().ladder()) worst(now.own, *ladder);
    if (const auto* const parent = worker->stores().parent(); parent != nullptr && now.parent.has_value())
      worst(*now.parent, parent->ladder());
  }
  return now;
}

std::string Gateway::limits_json() const {
  return promises_json(status_.facts().runtime->chain, stores_now());
}

std::string Gateway::explain_json(pipeline::ProbeRequest request) {
  const auto runtime = status_.facts().runtime;
  const auto explanation = std::make_shared<pipeline::Explanation>();
  pipeline::explain(*runtime, std::move(request), system_clock().wall_ms(), *explanation);
  if (explanation->charges.size == 0) return to_json(*explanation, false);
  Worker& worker = *workers_.front();
  const auto peeked = ask_worker(worker, peek(explanation, worker.stores().top(), runtime));
  // Not in time: the worker may still be writing into the set, so nothing of it is read.
  if (!peeked) return "{\"error\":\"the store did not answer within a second\"}\n";
  return to_json(*explanation, *peeked);
}

}  // namespace weir::app
