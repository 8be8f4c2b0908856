// SPDX-License-Identifier: Apache-2.0
#include "app/findings_text.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>

namespace weir::app {
namespace {

using config::Finding;
using config::Severity;

constexpr std::size_t kMostFindings = 200, kMostColumns = 160;

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

}  // namespace

std::vector<Finding> by_severity(const config::LoadResult& loaded) {
  std::vector<Finding> findings;
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
    std::ranges::copy_if(loaded.findings, std::back_inserter(findings),
                         [severity](const Finding& one) { return one.severity == severity; });
  }
  return findings;
}

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

void print_findings(const std::vector<Finding>& findings) {
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

std::size_t count_of(const std::vector<Finding>& findings, Severity severity) {
  return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
}

}  // namespace weir::app
