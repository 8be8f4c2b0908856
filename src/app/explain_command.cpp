// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <iostream>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "app/command_line.hpp"
#include "app/quota_shelf.hpp"
#include "app/simulate/logged_identity.hpp"
#include "app/simulate/report.hpp"
#include "app/store_stack.hpp"
#include "pipeline/explain.hpp"
#include "store/chain_halves.hpp"

namespace weir::app {
namespace {

constexpr std::string_view kHelp =
    "weir explain [-c weir.yaml] [--header 'Name: value']... [--from ADDRESS] [METHOD] PATH\n"
    "weir explain [-c weir.yaml] --request-id ID ACCESS.jsonl...\n"
    "  Shows the limits that such a request meets: each layer's counter key, its limit, where that was "
    "written,\n"
    "  and, with a Redis store, its usage now. (In memory mode the counters are the running gateway's own: "
    "ask its\n"
    "  admin port, GET /explain?method=GET&path=/x&header=Name:%20value.)\n"
    "  -c, --config FILE   the main file (default weir.yaml)\n"
    "  -H, --header LINE   a request header, may be repeated\n"
    "      --from ADDRESS  the peer's address (default 127.0.0.1)\n"
    "      --json          the same as JSON\n"
    "      --request-id ID a request of the access log: what became of it, and what it would meet now\n";

pipeline::ProbeRequest probe_of(const Arguments& parsed) {
  pipeline::ProbeRequest request;
  if (parsed.rest.empty()) throw UsageError{"which path? write: weir explain GET /path"};
  if (parsed.rest.size() > 2) throw UsageError{"unexpected '" + parsed.rest[2] + "'"};
  if (parsed.rest.size() == 2) request.method = parsed.rest[0];
  request.target = parsed.rest.back();
  if (!request.target.starts_with('/')) throw UsageError{"a path starts with /: '" + request.target + "'"};
  request.peer = parsed.value("from", "127.0.0.1");
  for (const std::string& line : parsed.values("header")) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) throw UsageError{"a header is written 'Name: value', not '" + line + "'"};
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    request.headers.emplace_back(line.substr(0, colon), value == std::string::npos ? "" : line.substr(value));
  }
  return request;
}

// Asks a Redis store, for at most a second. False if it does not answer.
bool peek_at(const store::StoreOptions& options, limit::ChargeSet& charges) {
  boost::asio::io_context io(1);
  const auto caller = store::make_caller(io.get_executor(), options);
  store::RedisStore redis(caller, std::chrono::milliseconds(1000));
  store::SlotStore slots(redis, io.get_executor());
  limit::CounterStore& store = caller->sharded() ? static_cast<limit::CounterStore&>(slots) : redis;
  const auto ask = [&]() -> boost::asio::awaitable<bool> {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    const bool ready = co_await redis::wait_ready(*caller, deadline);
    if (ready) co_await store.peek(charges);
    caller->close();
    co_return ready && !charges.store_error;
  };
  bool answered = false;
  boost::asio::co_spawn(io, ask, [&](const std::exception_ptr&, bool good) { answered = good; });
  io.run();
  return answered;
}

// Layers of all regions are counted in the parent store. False where there is no store, or one does not
// answer.
bool peek(const pipeline::Runtime& runtime, pipeline::Explanation& explanation) {
  if (runtime.store.kind != store::StoreKind::redis || explanation.charges.size == 0) return false;
  store::ChainHalvesPool pool(limit::Scope::global);
  const store::ChainHalvesPool::Borrowed halves(pool, explanation.charges);
  limit::ChargeSet& global = halves->apart.set;
  bool answered = halves->main.set.size == 0 || peek_at(runtime.store, halves->main.set);
  if (global.size > 0)
    answered = answered && runtime.store.parent != nullptr && peek_at(*runtime.store.parent, global);
  halves->join(explanation.charges);
  return answered;
}

class KeptTexts final : public identity::Scratch {
 public:
  explicit KeptTexts(std::deque<std::string>& texts) : texts_(texts) {}
  std::string_view keep(std::string_view text) override { return texts_.emplace_back(text); }

 private:
  std::deque<std::string>& texts_;
};

// The request of that id; null if no log has it.
std::unique_ptr<LoggedRequest> find_logged(const std::vector<std::string>& logs, const std::string& id) {
  if (logs.empty()) throw UsageError{"which log? write: weir explain --request-id ID access.jsonl"};
  auto request = std::make_unique<LoggedRequest>();
  std::string why;
  for (const std::string& name : logs) {
    const auto file = LogFile::open(name);
    if (!file) throw UsageError{"cannot read " + name + ": " + file.error().message()};
    for (std::string_view line; (*file)->next(line);) {
      if (line.find(id) == std::string_view::npos) continue;
      const LineKind kind = read_line(line, *request, why);
      if (kind == LineKind::not_judged && line.find("\"request_id\":\"" + id + '"') != std::string_view::npos)
        throw UsageError{"no limit looked at that request: it was answered before"};
      if (kind == LineKind::request && request->request_id == id) return request;
    }
  }
  return nullptr;
}

std::string history_text(const LoggedRequest& request) {
  std::string out = "logged       " + time_text(request.time_ms) + ", ";
  if (request.final_hit_layer.empty()) return out + "let through\n";
  return out + "refused by " + request.final_hit_layer +
         (request.weight > 1 ? " (this line stands for " + count_text(request.weight) + ")\n" : "\n");
}

// What is known of the request stands in the log; what limits it would meet now in the configuration.
int explain_logged(const Arguments& parsed, const pipeline::Runtime& runtime) {
  const std::string id = parsed.value("request-id", "");
  const auto request = find_logged(parsed.rest, id);
  if (request == nullptr) {
    std::cerr << "weir: no request " << id
              << " in the log (it is written every second; of refused ones, only a sample under attack)\n";
    return kFoundWrong;
  }
  pipeline::Explanation explanation;
  explanation.request.method = request->method;
  explanation.request.target = request->path;
  explanation.credential = "not logged";
  KeptTexts texts(explanation.texts);
  identity::Extraction found;
  identify_logged(runtime, *request, texts, found);
  pipeline::explain_found(runtime, request->method, std::move(found), request->cost, system_clock().wall_ms(),
                          explanation);
  const bool peeked = peek(runtime, explanation);
  if (parsed.has("json")) {
    std::cout << to_json(explanation, peeked);
  } else {
    std::cout << history_text(*request) << to_text(explanation, peeked);
  }
  return kGood;
}

}  // namespace

int explain_command(const std::vector<std::string>& arguments) {
  const Arguments parsed(arguments, {{"config", 'c', true},
                                     {"header", 'H', true},
                                     {"from", 0, true},
                                     {"json", 0, false},
                                     {"request-id", 0, true},
                                     {"help", 'h', false}});
  if (parsed.has("help")) {
    std::cout << kHelp;
    return kGood;
  }
  const bool logged = parsed.has("request-id");
  const pipeline::ProbeRequest request = logged ? pipeline::ProbeRequest() : probe_of(parsed);
  const config::LoadResult loaded = load_at_hand(parsed.value("config", "weir.yaml"));
  for (const std::string& error : loaded.errors) std::cerr << "error: " << error << '\n';
  if (loaded.runtime == nullptr) return kFoundWrong;
  if (logged) return explain_logged(parsed, *loaded.runtime);
  pipeline::Explanation explanation;
  pipeline::explain(*loaded.runtime, request, system_clock().wall_ms(), explanation);
  const bool peeked = peek(*loaded.runtime, explanation);
  std::cout << (parsed.has("json") ? to_json(explanation, peeked) : to_text(explanation, peeked));
  return kGood;
}

}  // namespace weir::app
