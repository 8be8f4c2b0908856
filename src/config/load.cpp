// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"

#include <atomic>
#include <exception>
#include <optional>

#include "config/compile.hpp"
#include "config/parse.hpp"
#include "config/paths.hpp"
#include "config/validate.hpp"
#include "config/yaml_reader.hpp"
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

std::shared_ptr<pipeline::Runtime> run(const std::string& path, const std::string& quotas_file,
                                       Context& context) {
  const std::optional<Node> weir = read_weir(path, context);
  if (!weir) return nullptr;
  Document document;
  document.weir_file = path;
  parse_weir(*weir, document, context);
  if (!quotas_file.empty()) document.quotas_file = quotas_file;
  if (!document.quotas_file.empty()) {
    const std::optional<Node> quotas = read_quotas(*weir, document.quotas_file, context);
    if (quotas) parse_quotas(*quotas, document.quotas_file, document, context);
  }
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

}  // namespace

LoadResult load(const std::string& weir_yaml_path, std::set<std::string>* known_keys,
                const std::string& quotas_file) {
  LoadResult result;
  Diagnostics diagnostics;
  Files files;
  Context context{diagnostics, files, known_keys};
  std::shared_ptr<pipeline::Runtime> runtime;
  try {
    runtime = run(weir_yaml_path, quotas_file, context);
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
    result.runtime = std::move(runtime);
  }
  return result;
}

std::vector<std::string> restart_needed(const pipeline::Runtime& in_force, const pipeline::Runtime& loaded) {
  std::vector<std::string> keys;
  const auto compare = [&](const char* key, const auto& before, const auto& after) {
    if (!(before == after)) keys.emplace_back(key);
  };
  compare("listen", in_force.listeners, loaded.listeners);
  compare("admin.address", in_force.admin, loaded.admin);
  compare("admin.token", in_force.admin_token, loaded.admin_token);
  compare("workers", in_force.workers, loaded.workers);
  compare("log.access", in_force.log.access, loaded.log.access);
  compare("log.denials.to", in_force.log.denials, loaded.log.denials);
  const store::StoreOptions& old = in_force.store;
  const store::StoreOptions& now = loaded.store;
  compare("store.kind", old.kind, now.kind);
  compare("store.max_keys", old.max_keys, now.max_keys);
  const bool same_server = old.host == now.host && old.port == now.port && old.unix_path == now.unix_path &&
                           old.database == now.database && old.cluster == now.cluster;
  compare("store.url", same_server, true);
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
