// SPDX-License-Identifier: Apache-2.0
// Both configuration documents through parse, validate and compile. Whatever is wrong is said with a place
// that lies in the file; what passes compiles and can be shown.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <charconv>

#include "config/compile.hpp"
#include "config/parse.hpp"
#include "config/paths.hpp"
#include "config/validate.hpp"
#include "config/yaml_reader.hpp"
#include "fuzz/fuzzing.hpp"

namespace weir::fuzz {
namespace {

using namespace config;

constexpr std::string_view kBetween = "\n=====\n";
constexpr std::int64_t kNowMs = 1'700'000'000'000;

std::size_t lines_of(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) +
         static_cast<std::size_t>(std::count(text.begin(), text.end(), '\r')) + 1;
}

std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  require(parsed.ec == std::errc(), "a place is two numbers");
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  require(text.starts_with(':'), "a place ends in a colon");
  text.remove_prefix(1);
  return number;
}

// "weir.yaml:3:5: path: what is wrong"; "weir.yaml: what is wrong" is about the file as a whole.
void check_place(std::string_view line, std::string_view name, std::string_view text) {
  line.remove_prefix(name.size());
  if (line.starts_with(": ")) return;
  require(line.starts_with(':'), "a line begins with its place");
  line.remove_prefix(1);
  const std::size_t row = take_number(line);
  const std::size_t column = take_number(line);
  require(row >= 1 && row <= lines_of(text), "the line is one of the file");
  require(column >= 1 && column <= text.size() + 1, "the column is one of the file");
}

void check_lines(const Diagnostics& diagnostics, std::string_view weir, std::string_view quotas) {
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
    for (const std::string& line : diagnostics.lines(severity)) {
      require(line.find('\0') == std::string::npos && line.find('\n') == std::string::npos,
              "one message is one line");
      if (line.starts_with("weir.yaml")) check_place(line, "weir.yaml", weir);
      if (line.starts_with("quotas.yaml")) check_place(line, "quotas.yaml", quotas);
    }
  }
}

void load(std::string_view weir, std::string_view quotas) {
  Diagnostics diagnostics;
  Files files;
  Context context{diagnostics, files};
  Document document;
  document.weir_file = "weir.yaml";
  const auto tree = read_yaml(weir, diagnostics.add_file("weir.yaml"), Environment::expand, diagnostics);
  if (tree) parse_weir(*tree, document, context);
  const auto limits = read_yaml(quotas, diagnostics.add_file("quotas.yaml"), Environment::keep, diagnostics);
  if (limits) parse_quotas(*limits, "quotas.yaml", document, context);
  if (!tree || !limits) {
    require(diagnostics.failed(), "no tree without an error");
    return check_lines(diagnostics, weir, quotas);
  }
  const std::vector<QuotaPath> paths = quota_paths(document.quotas, context);
  validate(document, paths, kNowMs, context);
  const bool passed = !diagnostics.failed();
  const auto runtime = passed ? compile(document, paths, diagnostics) : nullptr;
  require(!passed || runtime != nullptr, "what is valid compiles");
  require(!passed || !diagnostics.failed(), "what is valid compiles without errors");
  check_lines(diagnostics, weir, quotas);
  if (!passed) return;
  boost::system::error_code broken;
  boost::json::parse(printable(document, *runtime), broken);
  require(!broken, "the configuration in force is shown as JSON");
}

void read_as_json(std::string_view text) {
  Diagnostics diagnostics;
  const auto tree = read_json(text, diagnostics.add_file("weir.yaml"), diagnostics);
  require(tree || diagnostics.failed(), "no tree without an error");
  check_lines(diagnostics, text, {});
}

void run(std::string_view bytes) {
  const auto parts = parts_of(bytes, kBetween);
  load(parts[0], parts.size() > 1 ? parts[1] : std::string_view());
  if (parts.size() > 2) read_as_json(parts[2]);
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
