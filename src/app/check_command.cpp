// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <iostream>
#include <map>

#include "app/command_line.hpp"
#include "config/load.hpp"

namespace weir::app {
namespace {

using config::Finding;
using config::Severity;

constexpr std::size_t kMostFindings = 200, kMostColumns = 160;
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

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      break;
  }
  return "note";
}

// Lines of the files that findings are about, read once. A line that may hold a secret is not shown.
class Source {
 public:
  std::string_view line(const std::string& file, std::uint32_t number) {
    auto known = files_.find(file);
    if (known == files_.end()) known = files_.emplace(file, read(file)).first;
    if (number == 0 || number > known->second.size()) return {};
    const std::string& text = known->second[number - 1];
    return may_hold_secret(text) ? std::string_view() : text;
  }

 private:
  static std::vector<std::string> read(const std::string& file) {
    std::vector<std::string> lines;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
    return lines;
  }
  static bool may_hold_secret(const std::string& text) {
    for (const std::string_view word : {"password", "token", "secret", "sha256", "://"}) {
      if (text.find(word) != std::string::npos) return true;
    }
    return false;
  }

  std::map<std::string, std::vector<std::string>> files_;
};

std::string one_line(const Finding& finding) {
  std::string out = finding.file;
  if (finding.line > 0) out += ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column);
  out += ": ";
  if (!finding.path.empty()) out += finding.path + ": ";
  return out + finding.text;
}

// The line, and below it a caret at the column; of a long line the part around it.
void print_excerpt(std::string_view text, const Finding& finding) {
  const std::size_t column = std::max<std::uint32_t>(1, finding.column) - 1;
  if (text.empty() || column > text.size()) return;
  const std::size_t from = column < kMostColumns - 20 ? 0 : column - kMostColumns / 2;
  const std::string number = std::to_string(finding.line);
  std::string shown(text.substr(from, kMostColumns)), below;
  for (std::size_t n = from; n < column; ++n) below += text[n] == '\t' ? '\t' : ' ';
  std::cout << std::string(number.size() < 6 ? 6 - number.size() : 1, ' ') << number << " | " << shown << '\n'
            << "       | " << below << "^\n";
}

void print_text(const std::vector<Finding>& findings) {
  Source source;
  std::size_t printed = 0;
  for (const Finding& finding : findings) {
    if (printed++ == kMostFindings) {
      std::cout << "and " << findings.size() - kMostFindings << " more\n";
      return;
    }
    std::cout << name_of(finding.severity) << ": " << one_line(finding) << '\n';
    print_excerpt(source.line(finding.file, finding.line), finding);
  }
}

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

std::size_t count_of(const std::vector<Finding>& findings, Severity severity) {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
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
  std::vector<Finding> findings;  // by severity, then place
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
    std::ranges::copy_if(loaded.findings, std::back_inserter(findings),
                         [severity](const Finding& one) { return one.severity == severity; });
  }
  const std::size_t errors = count_of(findings, Severity::error);
  const std::size_t warnings = count_of(findings, Severity::warning);
  if (parsed.has("quiet")) {
    std::erase_if(findings, [](const Finding& one) { return one.severity != Severity::error; });
  }
  const bool good = loaded.runtime != nullptr && !(parsed.has("strict") && warnings > 0);
  if (format == "json") {
    print_json(file, good, findings);
  } else {
    print_text(findings);
    const std::size_t notes = count_of(loaded.findings, Severity::note);
    std::cout << file << ": ";
    if (errors > 0) std::cout << errors << " error(s), ";
    if (errors == 0) std::cout << "good, ";
    std::cout << warnings << " warning(s), " << notes << " note(s)\n";
  }
  return good ? kGood : kFoundWrong;
}

}  // namespace weir::app
