// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <optional>

#include "config/compile.hpp"
#include "config/parse.hpp"
#include "config/paths.hpp"
#include "config/validate.hpp"
#include "config/yaml_reader.hpp"
#include "net/tls_context.hpp"
#include "weir/base/clock.hpp"

namespace weir::config {

namespace {

std::optional<Node> read_weir(const std::string& path, Context& context) {
  const std::uint32_t file = context.diagnostics.add_file(path);
  std::string why;
  const std::optional<std::string> bytes = context.files.read(path, why);
  if (bytes) return read_yaml(*bytes, file, Environment::expand, context.diagnostics);
  context.diagnostics.error({file, 0, 0}, {}, "cannot read: " + why);
  return std::nullopt;
}

// The tree of quotas.yaml; a missing file is the fault of the key that names it.
std::optional<Node> read_quotas(const Node& weir, const std::string& path, Context& context) {
  std::string why;
  const std::optional<std::string> bytes = context.files.read(path, why);
  if (!bytes) {
    Position at = weir.at;
    for (const Entry& entry : weir.entries) {
      if (entry.key == "quotas") at = entry.at;
    }
    context.diagnostics.error(at, "quotas", "cannot read " + path + ": " + why);
    return std::nullopt;
  }
  const std::uint32_t file = context.diagnostics.add_file(path);
  return read_yaml(*bytes, file, Environment::keep, context.diagnostics);
}

// From here on files are those of the quotas: on the disk, or all of them as they were pushed.
void load_quotas(const Node& weir, const PushedQuotas* pushed, Document& document, Context& context,
                 QuotaFiles& kept) {
  pipeline::QuotaOrigin& origin = document.quota_origin;
  context.files.keep();
  if (pushed != nullptr) {
    document.quotas_file = pushed->files.main;
    context.files.read_only_from(pushed->files.texts);
  }
  if (document.quotas_file.empty()) return;
  const std::optional<Node> quotas = read_quotas(weir, document.quotas_file, context);
  if (quotas) parse_quotas(*quotas, document.quotas_file, document, context);
  kept = {document.quotas_file, context.files.take_kept()};
  origin.source = pushed == nullptr ? pipeline::QuotaSource::file : pushed->source;
  origin.version = pushed == nullptr ? short_hash_of(kept) : pushed->version;
  origin.pushed_wall_ms = pushed == nullptr ? 0 : pushed->at_ms;
}

struct Inputs {
  const std::string& weir_file;
  const std::string& quotas_file;
  const PushedQuotas* pushed;
};

std::shared_ptr<pipeline::Runtime> run(const Inputs& inputs, Context& context, LoadResult& result) {
  const std::optional<Node> weir = read_weir(inputs.weir_file, context);
  if (!weir) return nullptr;
  Document document;
  document.weir_file = inputs.weir_file;
  parse_weir(*weir, document, context);
  result.from_store = document.quota_origin.from_store;
  if (!inputs.quotas_file.empty()) document.quotas_file = inputs.quotas_file;
  load_quotas(*weir, result.from_store ? inputs.pushed : nullptr, document, context, result.quotas);
  const std::vector<QuotaPath> paths = quota_paths(document.quotas, context);
  validate(document, paths, system_clock().wall_ms(), context);
  if (context.diagnostics.failed()) return nullptr;
  return compile(document, paths, context.diagnostics);
}

std::vector<Finding> findings(const Diagnostics& diagnostics) {
  std::vector<Finding> out;
  for (const Diagnostic& one : diagnostics.sorted()) {
    const std::string file = diagnostics.files().empty() ? std::string() : diagnostics.file(one.at.file);
    out.push_back({one.severity, file, one.at.line, one.at.column, one.path, one.text});
  }
  return out;
}

std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> loads{0};
  return ++loads;
}

Certificates certificates_of(const pipeline::Runtime& runtime) {
  Certificates found;
  const auto add_all = [&found](const std::shared_ptr<const net::TlsServerContext>& tls) {
    if (tls != nullptr) std::ranges::copy(tls->options().certificates, std::back_inserter(found));
  };
  for (const http::ListenerOptions& listener : runtime.server.listeners) add_all(listener.tls);
  add_all(runtime.admin_tls);
  const auto add_own = [&found](const std::shared_ptr<const net::TlsClientContext>& tls) {
    if (tls != nullptr && tls->options().certificate != nullptr) found.push_back(tls->options().certificate);
  };
  for (const upstream::ClusterOptions& cluster : runtime.clusters) add_own(cluster.tls);
  add_own(runtime.store.tls);
  if (runtime.store.parent != nullptr) add_own(runtime.store.parent->tls);
  return found;
}

}  // namespace

LoadResult load(const std::string& weir_yaml_path, std::set<std::string>* known_keys,
                const std::string& quotas_file, const PushedQuotas* pushed,
                const pipeline::Runtime* in_force) {
  LoadResult result;
  Diagnostics diagnostics;
  Files files;
  const Certificates certificates = in_force == nullptr ? Certificates() : certificates_of(*in_force);
  Context context{diagnostics, files, known_keys, in_force == nullptr ? nullptr : &certificates};
  std::shared_ptr<pipeline::Runtime> runtime;
  try {
    runtime = run({weir_yaml_path, quotas_file, pushed}, context, result);
  } catch (const std::exception& failure) {
    diagnostics.error({}, {}, std::string("cannot be loaded: ") + failure.what());
  }
  result.errors = diagnostics.lines(Severity::error);
  result.warnings = diagnostics.lines(Severity::warning);
  result.notes = diagnostics.lines(Severity::note);
  result.findings = findings(diagnostics);
  result.files = files.names();
  if (runtime != nullptr && result.errors.empty()) {
    runtime->version = files.version();
    runtime->warnings = result.warnings;
    runtime->loaded_wall_ms = system_clock().wall_ms();
    runtime->generation = next_generation();
    runtime->kept_certificates = context.kept_certificates;
    result.runtime = std::move(runtime);
  }
  return result;
}

namespace {

bool same_server(const store::StoreOptions& old, const store::StoreOptions& now) {
  return old.host == now.host && old.port == now.port && old.unix_path == now.unix_path &&
         old.database == now.database && old.cluster == now.cluster;
}

bool same_parent(const store::StoreOptions* old, const store::StoreOptions* now) {
  if (old == nullptr || now == nullptr) return old == now;
  return same_server(*old, *now) && old->sentinels == now->sentinels &&
         old->tls_version == now->tls_version && old->username == now->username &&
         old->password == now->password && old->timeout == now->timeout &&
         old->lease.max_age == now->lease.max_age && old->lease.requests == now->lease.requests;
}

}  // namespace

FixedOptions fixed_options(const pipeline::Runtime& runtime) {
  return {runtime.listeners, runtime.admin, runtime.admin_token, net::tls_demands(runtime.admin_tls.get()),
          runtime.workers,   runtime.log,   runtime.store};
}

std::vector<std::string> restart_needed(const FixedOptions& begun_with, const pipeline::Runtime& runtime) {
  const FixedOptions loaded = fixed_options(runtime);
  std::vector<std::string> keys;
  const auto compare = [&](const char* key, const auto& before, const auto& after) {
    if (!(before == after)) keys.emplace_back(key);
  };
  compare("listen", begun_with.listeners, loaded.listeners);
  compare("admin.address", begun_with.admin, loaded.admin);
  compare("admin.token", begun_with.admin_token, loaded.admin_token);
  compare("admin.tls", begun_with.admin_demands, loaded.admin_demands);
  compare("workers", begun_with.workers, loaded.workers);
  compare("log.access", begun_with.log.access, loaded.log.access);
  compare("log.denials.to", begun_with.log.denials, loaded.log.denials);
  const store::StoreOptions& old = begun_with.store;
  const store::StoreOptions& now = loaded.store;
  compare("store.kind", old.kind, now.kind);
  compare("store.max_keys", old.max_keys, now.max_keys);
  compare("store.url", same_server(old, now), true);
  compare("store.parent", same_parent(old.parent.get(), now.parent.get()), true);
  compare("store.sentinel", old.sentinels, now.sentinels);
  compare("store.tls", old.tls_version, now.tls_version);
  compare("store.username", old.username, now.username);
  compare("store.password", old.password, now.password);
  compare("store.timeout", old.timeout, now.timeout);
  compare("store.instances", old.instances, now.instances);
  compare("store.long_after", old.long_after, now.long_after);
  return keys;
}

}  // namespace weir::config
