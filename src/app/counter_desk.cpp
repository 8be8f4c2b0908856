// SPDX-License-Identifier: Apache-2.0
#include "app/counter_desk.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "app/ask_worker.hpp"
#include "app/json_object.hpp"
#include "base/hash.hpp"
#include "store/pool_call.hpp"
#include "telemetry/log.hpp"

namespace weir::app {
namespace {

using admin::CounterRequest;
using admin::SourceAnswer;

constexpr std::int64_t kPeriodMs = 5 * 60'000;
constexpr std::array<std::string_view, 4> kAnswered{"store", "local", "failed_open", "failed_shut"};

std::string random_secret() {
  std::random_device device;
  std::string secret;
  for (int n = 0; n < 8; ++n) secret += std::to_string(device()) + ' ';
  return secret;
}

SourceAnswer wrong(int status, std::string_view what) {
  SourceAnswer answer{status, {}};
  JsonObject object(answer.json);
  object.text("error", what).end();
  answer.json += '\n';
  return answer;
}

SourceAnswer layers_of(const pipeline::Runtime& runtime) {
  SourceAnswer answer;
  answer.json = "{\"layers\":";
  append_json_array(answer.json, runtime.chain.layers(), [&](const limit::Layer& layer) {
    JsonObject object(answer.json);
    object.text("layer", layer.name).texts("key", layer.key_names).end();
  });
  answer.json += "}\n";
  return answer;
}

boost::asio::awaitable<bool> peek_in(limit::CounterStore& store, std::shared_ptr<limit::ChargeSet> set) {
  co_await store.peek(*set);
  co_return !set->store_error;
}

// How long a fixed window may last, by its terms; calendar windows differ in length.
std::int64_t longest_window_ms(const limit::Charge& charge) {
  const limit::Terms& terms = charge.policy->terms;
  if (!terms.calendar) return terms.window_ms;
  const auto& at = charge.request.bounds.at;
  return std::max({at[1] - at[0], at[2] - at[1], at[3] - at[2]});
}

boost::asio::awaitable<std::int64_t> forget_in(std::shared_ptr<redis::ScriptCaller> caller, std::string key,
                                               std::int64_t window_ms) {
  redis::ScriptArguments arguments;
  arguments.start(1);
  arguments.add(std::string_view(key));
  if (window_ms > 0) arguments.add(window_ms);
  const redis::Slot slot = redis::slot_of(key);
  const auto deadline = std::chrono::steady_clock::now() + kAskPatience;
  const Result<redis::Reply> reply = co_await caller->call(redis::kForget, slot, arguments, deadline);
  const bool answered = reply.has_value() && reply->type == redis::Reply::Type::integer;
  co_return answered ? reply->integer : -1;
}

}  // namespace

// One counter as the chain names it. Its texts, key and policy live as long as this.
struct CounterDesk::Found {
  Found(std::shared_ptr<const pipeline::Runtime> runtime_, const CounterRequest& request_)
      : runtime(std::move(runtime_)), request(request_) {}

  const std::shared_ptr<const pipeline::Runtime> runtime;
  const CounterRequest request;
  SourceAnswer problem{0, {}};
  const std::unique_ptr<limit::ChargeSet> charges = std::make_unique<limit::ChargeSet>();

  const limit::Charge& charge() const { return charges->charge[0]; }

  bool find(std::int64_t wall_ms) {
    const auto layers = runtime->chain.layers();
    const auto layer = std::ranges::find(layers, request.layer, &limit::Layer::name);
    if (layer == layers.end()) return fail(404, "no layer '" + request.layer + "'; GET /counters lists them");
    if (!read_facts() || !has_key(*layer)) return false;
    const limit::Descriptor who{facts, request.lane == admin::Lane::exempt, 1, 1};
    const std::string blocked(runtime->chain.build(who, wall_ms, *charges));
    const auto at = std::ranges::find(charges->charges(), request.layer,
                                      [](const limit::Charge& each) { return each.policy->layer; });
    if (at == charges->charges().end()) {
      return fail(409, blocked.empty() ? "nothing is counted here: there is no limit for this key"
                                       : "nothing is counted here: layer " + blocked + " blocks this key");
    }
    charges->charge[0] = *at;
    charges->size = 1;
    return true;
  }

 private:
  bool fail(int status, std::string_view what) {
    problem = wrong(status, what);
    return false;
  }

  bool read_facts() {
    facts[identity::dimension::node] = {runtime->node, limit::Fact::present};
    for (const auto& [name, value] : request.key) {
      std::size_t at = 1;
      const auto& names = runtime->extractor;
      while (at < facts.size() && names.dimension_name(static_cast<identity::Dimension>(at)) != name) ++at;
      if (at == facts.size()) return fail(400, "no dimension '" + name + "' is configured");
      facts[at] = value ? limit::DescriptorEntry{*value, limit::Fact::present}
                        : limit::DescriptorEntry{{}, limit::Fact::anonymous};
    }
    return true;
  }

  bool has_key(const limit::Layer& layer) {
    for (std::size_t n = 0; n < layer.key.size(); ++n) {
      const bool given = facts[layer.key[n]].fact != limit::Fact::absent;
      if (!given) return fail(400, "layer " + layer.name + " counts by " + layer.key_names[n] + ": give it");
    }
    return true;
  }

  std::array<limit::DescriptorEntry, identity::kMaxDimensions> facts{};
};

CounterDesk::CounterDesk(const Workers& workers, store::MemoryStore& memory, const Clock& clock)
    : workers_(workers), memory_(memory), clock_(clock), secret_(random_secret()) {}

std::string CounterDesk::confirmation(std::string_view counter, std::int64_t period) const {
  return digest_hex(secret_ + std::to_string(period) + ' ' + std::string(counter));
}

bool CounterDesk::confirms(std::string_view given, std::string_view counter) const {
  const std::int64_t period = clock_.monotonic_ms() / kPeriodMs;
  return given == confirmation(counter, period) || given == confirmation(counter, period - 1);
}

bool CounterDesk::peek(const std::shared_ptr<Found>& found) const {
  Worker& worker = *workers_.front();
  // Policies and texts that the charges refer to live in `found`: it has to last as long as the question.
  std::shared_ptr<limit::ChargeSet> charges(found, found->charges.get());
  return ask_worker(worker, peek_in(worker.stores().top(), std::move(charges))).value_or(false);
}

std::int64_t CounterDesk::forget(const Found& found) const {
  const limit::Charge& charge = found.charge();
  Worker& worker = *workers_.front();
  const auto caller = worker.stores().caller(charge.policy->scope);
  if (caller == nullptr) {
    return static_cast<std::int64_t>(memory_.forget(charge.key));
  }
  const bool fixed = charge.policy->terms.algorithm == limit::AlgorithmKind::fixed_window;
  const std::int64_t window_ms = fixed ? longest_window_ms(charge) : 0;
  const std::int64_t removed =
      ask_worker(worker, forget_in(caller, std::string(charge.key), window_ms)).value_or(-1);
  if (removed < 0 || charge.policy->scope != limit::Scope::global) return removed;
  // What the region was granted of it before, it holds no longer.
  const auto region = worker.stores().caller(limit::Scope::fleet);
  const auto emptied = ask_worker(worker, forget_in(region, store::pool_key(charge.key), 0)).value_or(-1);
  return emptied < 0 ? -1 : removed;
}

SourceAnswer CounterDesk::read(std::shared_ptr<const pipeline::Runtime> runtime,
                               const CounterRequest& request) const {
  if (request.layer.empty()) return layers_of(*runtime);
  const auto found = std::make_shared<Found>(std::move(runtime), request);
  if (!found->find(clock_.wall_ms())) return found->problem;
  if (!peek(found)) return wrong(503, "the store does not answer");
  const limit::Charge& charge = found->charge();
  const limit::Terms& terms = charge.policy->terms;
  SourceAnswer answer;
  JsonObject object(answer.json);
  object.text("layer", request.layer)
      .text("lane", request.lane == admin::Lane::exempt ? "exempt" : "ordinary")
      .text("counter", charge.key)
      .text("algorithm", limit::name_of(terms.algorithm))
      .number("limit", terms.limit)
      .number("window_ms", terms.window_ms)
      .number("burst", terms.burst)
      .number("used", limit::capacity_of(terms) - charge.verdict.remaining)
      .number("remaining", charge.verdict.remaining)
      .number("retry_after_ms", charge.verdict.retry_after_ms)
      .number("reset_ms", charge.verdict.reset_ms)
      .text("answered", kAnswered[static_cast<std::size_t>(charge.answered)])
      .text("source", charge.policy->source)
      .text("confirm", confirmation(charge.key, clock_.monotonic_ms() / kPeriodMs))
      .end();
  answer.json += '\n';
  return answer;
}

SourceAnswer CounterDesk::reset(std::shared_ptr<const pipeline::Runtime> runtime,
                                const CounterRequest& request, std::string_view peer) const {
  if (request.layer.empty()) return wrong(400, "'layer' is missing");
  const auto found = std::make_shared<Found>(std::move(runtime), request);
  if (!found->find(clock_.wall_ms())) return found->problem;
  const std::string counter(found->charge().key);
  if (!confirms(request.confirm, counter)) {
    return wrong(409, "'confirm' is not what GET /counters gave for this counter in the last five minutes");
  }
  const bool peeked = peek(found);
  const std::int64_t removed = peeked ? forget(*found) : -1;
  if (removed < 0) return wrong(503, "the store does not answer; whether the counter was reset is not known");
  const limit::Charge& charge = found->charge();
  const std::int64_t capacity = limit::capacity_of(charge.policy->terms);
  const std::int64_t used = capacity - charge.verdict.remaining;
  telemetry::log_warn("counter.reset", std::string(peer) + " reset " + counter + " of layer " +
                                           request.layer + ": " + std::to_string(used) + " of " +
                                           std::to_string(capacity) + " were used");
  SourceAnswer answer;
  JsonObject object(answer.json);
  object.text("layer", request.layer)
      .text("counter", counter)
      .number("used_before", used)
      .flag("existed", removed > 0)
      .end();
  answer.json += '\n';
  return answer;
}

}  // namespace weir::app
