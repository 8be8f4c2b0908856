// SPDX-License-Identifier: Apache-2.0
#include "app/command_line.hpp"

#include <array>
#include <exception>
#include <iostream>
#include <string_view>

#include "config/diagnostics.hpp"

namespace weir::app {
namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>&);
};

int version_command(const std::vector<std::string>&) {
  std::cout << "weir " WEIR_VERSION "\n";
  return kGood;
}

constexpr auto kCommands = std::to_array<Command>({
    {"serve", "run the gateway", serve_command},
    {"check", "validate the configuration and say all that is wrong with it", check_command},
    {"push", "publish a quota file to all gateways that share a store", push_command},
    {"explain", "show which limits a request would meet, and where they were written", explain_command},
    {"simulate", "replay access logs against new quotas: who would be refused", simulate_command},
    {"top", "watch who sends most and who is refused most", top_command},
    {"health", "ask a running gateway whether it takes traffic", health_command},
    {"demo-upstream", "a small server to proxy to, for a first try", demo_upstream_command},
    {"version", "print the version", version_command},
});

void print_help(std::ostream& out) {
  out << "weir: an HTTP gateway that keeps an over-user's damage in the smallest box\n\nusage: weir COMMAND "
         "[options]\n\n";
  for (const Command& command : kCommands) {
    out << "  " << command.name << std::string(16 - command.name.size(), ' ') << command.summary << '\n';
  }
  out << "\n`weir COMMAND --help` says more. Exit codes: 0 good, 1 something was found wrong, 2 could not "
         "run.\n";
}

int unknown_command(const std::string& name) {
  std::vector<std::string_view> names;
  names.reserve(std::size(kCommands));
  for (const Command& command : kCommands) names.push_back(command.name);
  std::cerr << "weir: unknown command '" << name << "'";
  if (const auto nearest = config::nearest(name, names); !nearest.empty()) {
    std::cerr << ", did you mean '" << nearest << "'?";
  }
  std::cerr << "\n\n";
  print_help(std::cerr);
  return kCouldNotRun;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_help(arguments.empty() ? std::cerr : std::cout);
    return arguments.empty() ? kCouldNotRun : kGood;
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  const std::string name = arguments[0] == "--version" ? "version" : arguments[0];
  try {
    for (const Command& command : kCommands) {
      if (command.name == name) return command.run(rest);
    }
    return unknown_command(name);
  } catch (const UsageError& error) {
    std::cerr << "weir " << name << ": " << error.text << "\n`weir " << name
              << " --help` shows what is possible.\n";
  } catch (const std::exception& error) {
    std::cerr << "weir " << name << ": " << error.what() << '\n';
  }
  return kCouldNotRun;
}

}  // namespace weir::app
