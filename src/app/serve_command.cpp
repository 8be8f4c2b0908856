// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/command_line.hpp"
#include "app/gateway.hpp"
#include "telemetry/log.hpp"

namespace weir::app {
namespace {

constexpr std::chrono::milliseconds kStorePatience(1500);
constexpr std::string_view kHelp =
    "weir serve [-c weir.yaml]\n"
    "  Runs the gateway. SIGHUP (or a changed file) reloads, SIGUSR1 reopens log files, SIGTERM\n"
    "  drains and ends it.\n"
    "  -c, --config FILE   the main file (default weir.yaml)\n"
    "Exit codes: 0 drained, 1 the configuration is wrong, 2 could not run (a port is taken).\n";

// Where quotas come from the store: what is published there now, or else the copy of the last ones. weir.yaml
// and the file it names have to be good in any case.
QuotaShelf::Outcome load_at_start(QuotaShelf& quotas) {
  config::LoadResult plain = config::load(quotas.config_path());
  if (plain.runtime == nullptr || !plain.from_store) return {std::move(plain), {}};
  const pipeline::Runtime& runtime = *plain.runtime;
  std::vector<std::string> remarks(2);
  store::Published published = published_now(runtime.store, runtime.node, kStorePatience);
  if (!published.version.empty()) {
    const std::string version = published.version;
    auto offered = config::read_pushed(version, published.at_ms, std::move(published.document), remarks[0]);
    if (offered) quotas.offer(std::move(*offered));
    if (!remarks[0].empty()) remarks[0] = "pushed quotas " + version + " " + remarks[0];
  }
  quotas.take_copy(runtime.quotas, remarks[1]);
  QuotaShelf::Outcome outcome = quotas.load();
  for (std::string& remark : remarks) {
    if (!remark.empty()) outcome.refused.push_back(std::move(remark));
  }
  return outcome;
}

}  // namespace

int serve_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"config", 'c', true}, {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const std::string file = parsed.value("config", parsed.rest.empty() ? "weir.yaml" : parsed.rest.front());
  QuotaShelf quotas(file);
  const QuotaShelf::Outcome outcome = load_at_start(quotas);
  const config::LoadResult& loaded = outcome.loaded;
  for (const std::string& error : loaded.errors) std::cerr << "error: " << error << '\n';
  if (loaded.runtime == nullptr) return kFoundWrong;

  telemetry::LogSettings settings;
  settings.level = telemetry::log_level_of(loaded.runtime->log.level);
  telemetry::start_log(settings);
  for (const std::string& warning : loaded.warnings) telemetry::log_warn("config.warning", warning);
  for (const std::string& error : outcome.refused) telemetry::log_error("config.rejected", error);
  Gateway gateway(std::move(quotas), loaded);
  const int code = gateway.run();
  telemetry::stop_log();
  return code;
}

}  // namespace weir::app
