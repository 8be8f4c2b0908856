// SPDX-License-Identifier: Apache-2.0
// `weir push`: one quota file for the whole fleet, published in the shared store.
#include <iostream>

#include "app/command_line.hpp"
#include "app/document_session.hpp"
#include "app/findings_text.hpp"
#include "app/line_difference.hpp"
#include "config/load.hpp"

namespace weir::app {
namespace {

using config::Severity;

constexpr std::chrono::seconds kPatience(5);
constexpr std::string_view kHelp =
    "weir push [-c weir.yaml] QUOTAS.yaml\n"
    "weir push [-c weir.yaml] --rollback\n"
    "  Publishes a quota file (and the override files it names) in the store that weir.yaml names. All\n"
    "  gateways of its node that say `quotas: {from: store}` take it within ten seconds. What\n"
    "  `weir check` would refuse is not published.\n"
    "  -c, --config FILE   the main file (default weir.yaml)\n"
    "  -n, --dry-run       only show what would change\n"
    "      --rollback      publish again what the quotas in force replaced\n"
    "  -s, --strict        warnings are refused too\n"
    "Exit codes: 0 published or nothing to publish, 1 errors were found, 2 could not run.\n";

// The store has its say: what went wrong there.
struct StoreError {
  std::string text;
};

template <class T>
T answer_of(DocumentSession& session, boost::asio::awaitable<Result<T>> question) {
  Result<T> answer = session.ask(std::move(question));
  if (answer) return std::move(*answer);
  // While there is no connection the reason for that says more than the call's.
  const error_code why = session.last_error() ? session.last_error() : answer.error();
  throw StoreError{"the store does not answer: " + why.message()};
}

struct Document {
  config::QuotaFiles files;
  std::string text;
};

std::string text_in(const config::QuotaFiles& files, const std::string& name) {
  const auto found = files.texts.find(name);
  return found == files.texts.end() ? std::string() : found->second;
}

// What is published now; no files if that is nothing, or not readable.
config::QuotaFiles files_of(const store::Published& published) {
  std::string why;
  auto quotas = published.version.empty()
                    ? std::nullopt
                    : config::read_pushed(published.version, published.at_ms, published.document, why);
  if (!why.empty()) std::cout << "what is published as " << published.version << ' ' << why << '\n';
  return quotas ? std::move(quotas->files) : config::QuotaFiles();
}

void print_difference(const config::QuotaFiles& before, const config::QuotaFiles& after) {
  for (const auto& [name, text] : after.texts) {
    // The quota file may lie elsewhere than last time; other files go by their names.
    const std::string& former = name == after.main ? before.main : name;
    const auto lines = line_difference(text_in(before, former), text);
    if (!lines.empty()) std::cout << name << '\n';
    for (const std::string& line : lines) std::cout << "  " << line << '\n';
  }
  for (const auto& [name, text] : before.texts) {
    if (name != before.main && !after.texts.contains(name)) std::cout << name << " is left out\n";
  }
}

// Quotas as this configuration would read them. False: errors, which are printed.
bool good(const config::LoadResult& loaded, const Arguments& parsed) {
  const auto findings = by_severity(loaded);
  print_findings(findings);
  const bool strict = parsed.has("strict") && count_of(findings, Severity::warning) > 0;
  if (loaded.runtime != nullptr && !strict) return true;
  std::cout << "nothing was published\n";
  return false;
}

Document document_of(const config::QuotaFiles& files) {
  std::string why;
  auto text = config::to_document(files, why);
  if (!text) throw UsageError{files.main + " " + why};
  return {files, std::move(*text)};
}

int publish(DocumentSession& session, const Document& document, const Arguments& parsed) {
  const store::Published before = answer_of(session, session.document().read());
  if (before.document == document.text) {
    std::cout << "nothing to publish: version " << before.version << " is the same\n";
    return kGood;
  }
  print_difference(files_of(before), document.files);
  const std::string replaced = before.version.empty() ? "nothing" : "version " + before.version;
  if (parsed.has("dry-run")) {
    std::cout << "would be published in place of " << replaced << '\n';
    return kGood;
  }
  const store::Publication published = answer_of(
      session,
      session.document().publish(before.version, config::short_hash_of(document.text), document.text));
  if (!published.done) {
    std::cerr << "weir push: somebody else has just published version " << published.in_force.version
              << "; look at it and push again\n";
    return kCouldNotRun;
  }
  std::cout << "published as version " << published.in_force.version << " in place of " << replaced
            << "; in force everywhere within ten seconds\n";
  return kGood;
}

std::shared_ptr<const pipeline::Runtime> runtime_for_store(const config::LoadResult& loaded) {
  if (loaded.runtime->store.kind != store::StoreKind::redis)
    throw UsageError{"store.kind is memory: there is no store that gateways share"};
  if (!loaded.from_store)
    throw UsageError{
        "gateways with this weir.yaml take their quotas from a file; write quotas: {from: store}"};
  return loaded.runtime;
}

int roll_back(const std::string& config_file, const Arguments& parsed) {
  const config::LoadResult plain = config::load(config_file);
  if (!good(plain, parsed)) return kFoundWrong;
  const auto runtime = runtime_for_store(plain);
  DocumentSession session(runtime->store, runtime->node, kPatience);
  session.reach();
  store::Published former = answer_of(session, session.document().former());
  if (former.version.empty()) throw UsageError{"nothing was published before what is in force"};
  std::string why;
  const auto quotas = config::read_pushed(former.version, former.at_ms, std::move(former.document), why);
  if (!quotas) throw UsageError{"version " + former.version + ' ' + why};
  const config::LoadResult loaded = config::load(config_file, nullptr, {}, &*quotas);
  if (!good(loaded, parsed)) return kFoundWrong;
  return publish(session, {quotas->files, quotas->document}, parsed);
}

int push_file(const std::string& config_file, const std::string& quotas_file, const Arguments& parsed) {
  const config::LoadResult loaded = config::load(config_file, nullptr, quotas_file);
  if (!good(loaded, parsed)) return kFoundWrong;
  const auto runtime = runtime_for_store(loaded);
  DocumentSession session(runtime->store, runtime->node, kPatience);
  session.reach();
  return publish(session, document_of(loaded.quotas), parsed);
}

}  // namespace

int push_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"config", 'c', true},
                                     {"dry-run", 'n', false},
                                     {"rollback", 0, false},
                                     {"strict", 's', false},
                                     {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const std::string config_file = parsed.value("config", "weir.yaml");
  const std::size_t wanted = parsed.has("rollback") ? 0 : 1;
  if (parsed.rest.size() != wanted)
    throw UsageError{wanted == 1 ? "one quota file is needed" : "--rollback takes no file"};
  try {
    return wanted == 0 ? roll_back(config_file, parsed) : push_file(config_file, parsed.rest[0], parsed);
  } catch (const StoreError& error) {
    std::cerr << "weir push: " << error.text << '\n';
    return kCouldNotRun;
  }
}

}  // namespace weir::app
