// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/command_line.hpp"
#include "config/load.hpp"

namespace weir::app {
namespace {

void print(std::string_view kind, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::cout << kind << line << '\n';
}

constexpr std::string_view kHelp =
    "weir check [-c weir.yaml] [FILE]\n"
    "  Reads the configuration as `weir serve` would and names everything that is wrong with it.\n"
    "  -c, --config FILE   the main file (default weir.yaml); the quota file is the one it names\n"
    "  -q, --quiet         errors only\n"
    "Exit codes: 0 good (warnings may be printed), 1 errors were found, 2 could not run.\n";

}  // namespace

int check_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"config", 'c', true}, {"quiet", 'q', false}, {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const std::string file = parsed.value("config", parsed.rest.empty() ? "weir.yaml" : parsed.rest.front());
  const config::LoadResult loaded = config::load(file);
  print("error: ", loaded.errors);
  if (!parsed.has("quiet")) {
    print("warning: ", loaded.warnings);
    print("note: ", loaded.notes);
  }
  if (loaded.runtime == nullptr) {
    std::cout << file << ": " << loaded.errors.size() << " error(s)\n";
    return kFoundWrong;
  }
  std::cout << file << ": good, " << loaded.warnings.size() << " warning(s)\n";
  return kGood;
}

}  // namespace weir::app
