// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/command_line.hpp"
#include "app/gateway.hpp"
#include "telemetry/log.hpp"

namespace weir::app {
namespace {

constexpr std::string_view kHelp =
    "weir serve [-c weir.yaml]\n"
    "  Runs the gateway. SIGHUP (or a changed file) reloads, SIGUSR1 reopens log files, SIGTERM\n"
    "  drains and ends it.\n"
    "  -c, --config FILE   the main file (default weir.yaml)\n"
    "Exit codes: 0 drained, 1 the configuration is wrong, 2 could not run (a port is taken).\n";

}  // namespace

int serve_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"config", 'c', true}, {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const std::string file = parsed.value("config", parsed.rest.empty() ? "weir.yaml" : parsed.rest.front());
  const config::LoadResult loaded = config::load(file);
  for (const std::string& error : loaded.errors) std::cerr << "error: " << error << '\n';
  if (loaded.runtime == nullptr) return kFoundWrong;

  telemetry::LogSettings settings;
  settings.level = telemetry::log_level_of(loaded.runtime->log.level);
  telemetry::start_log(settings);
  for (const std::string& warning : loaded.warnings) telemetry::log_warn("config.warning", warning);
  Gateway gateway(file, loaded);
  const int code = gateway.run();
  telemetry::stop_log();
  return code;
}

}  // namespace weir::app
