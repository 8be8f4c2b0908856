// SPDX-License-Identifier: Apache-2.0
#include <boost/json.hpp>
#include <iostream>

#include "app/command_line.hpp"
#include "app/findings_text.hpp"
#include "config/load.hpp"

namespace weir::app {
namespace {

using config::Finding;
using config::Severity;

constexpr std::string_view kHelp =
    "weir check [-c weir.yaml] [FILE]\n"
    "  Reads the configuration as `weir serve` would and names everything that is wrong with it, and what "
    "is\n"
    "  probably not meant: limits that cannot be reached, overrides that end soon or are shadowed, layers "
    "without\n"
    "  traffic ...\n"
    "  -c, --config FILE   the main file (default weir.yaml); the quota file is the one it names\n"
    "      --quotas FILE   another quota file in its place\n"
    "      --format WORD   text (default) or json\n"
    "  -s, --strict        warnings fail too\n"
    "  -q, --quiet         errors only\n"
    "Exit codes: 0 good (warnings may be printed), 1 errors were found, 2 could not run.\n";

void print_json(const std::string& file, bool good, const std::vector<Finding>& findings) {
  boost::json::array list;
  for (const Finding& finding : findings) {
    list.push_back(boost::json::object{{"severity", name_of(finding.severity)},
                                       {"file", finding.file},
                                       {"line", finding.line},
                                       {"column", finding.column},
                                       {"path", finding.path},
                                       {"text", finding.text}});
  }
  std::cout << boost::json::serialize(
                   boost::json::object{{"file", file}, {"good", good}, {"findings", std::move(list)}})
            << '\n';
}

}  // namespace

int check_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"config", 'c', true},
                                     {"quotas", 0, true},
                                     {"format", 'f', true},
                                     {"strict", 's', false},
                                     {"quiet", 'q', false},
                                     {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const std::string format = parsed.value("format", "text");
  if (format != "text" && format != "json")
    throw UsageError{"--format is text or json, not '" + format + "'"};
  const std::string file = parsed.value("config", parsed.rest.empty() ? "weir.yaml" : parsed.rest.front());
  const config::LoadResult loaded = config::load(file, nullptr, parsed.value("quotas", ""));
  std::vector<Finding> findings = by_severity(loaded);
  const std::size_t errors = count_of(findings, Severity::error);
  const std::size_t warnings = count_of(findings, Severity::warning);
  if (parsed.has("quiet")) {
    std::erase_if(findings, [](const Finding& one) { return one.severity != Severity::error; });
  }
  const bool good = loaded.runtime != nullptr && !(parsed.has("strict") && warnings > 0);
  if (format == "json") {
    print_json(file, good, findings);
  } else {
    print_findings(findings);
    const std::size_t notes = count_of(loaded.findings, Severity::note);
    std::cout << file << ": ";
    if (errors > 0) std::cout << errors << " error(s), ";
    if (errors == 0) std::cout << "good, ";
    std::cout << warnings << " warning(s), " << notes << " note(s)\n";
  }
  return good ? kGood : kFoundWrong;
}

}  // namespace weir::app
