// SPDX-License-Identifier: Apache-2.0
#include "store/chain_caller.hpp"

#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace weir::store {

using boost::asio::use_awaitable;
using std::chrono::steady_clock;

namespace {

constexpr std::int64_t kPerCallUs = 1000;  // one more call under way for each of these that a call takes
constexpr std::int64_t kMostCalls = 64;
constexpr std::int64_t kSmoothing = 8;

std::int64_t micros_since(redis::TimePoint begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begin).count();
}

}  // namespace

ChainCaller::Flight::~Flight() {
  for (Question* const question : questions) question->asker.drop();
}

ChainCaller::Line::~Line() {
  for (Question* const question : waiting) question->asker.drop();
}

ChainCaller::ChainCaller(std::shared_ptr<redis::ScriptCaller> caller, std::chrono::milliseconds timeout,
                         const redis::Script& script)
    : caller_(std::move(caller)), script_(script), timeout_(timeout) {}

ChainCaller::~ChainCaller() = default;

// --------------------------------------------------------------------------------------------- boarding

boost::asio::awaitable<void> ChainCaller::decide(limit::ChargeSet& set) {
  set.store_error = {};
  Question question{set, steady_clock::now(), {}};
  const auto wait = [this, &question](auto&& handler) {
    question.asker.park(std::forward<decltype(handler)>(handler));
    join(question);
  };
  co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(wait, use_awaitable);
}

// Settled sets may be anything, also empty: those are not sent.
redis::Slot ChainCaller::slot_of(const limit::ChargeSet& set) const {
  const bool matters = caller_->sharded() && set.size > 0;
  return matters ? redis::slot_of(set.charge[0].key) : redis::Slot{0};
}

ChainCaller::Line& ChainCaller::line_of(redis::Slot slot) {
  Line* idle = nullptr;
  for (const auto& line : lines_) {
    if (line->slot == slot) return *line;
    if (line->calls == 0) idle = line.get();
  }
  if (idle == nullptr) idle = lines_.emplace_back(std::make_unique<Line>()).get();
  idle->slot = slot;
  return *idle;
}

void ChainCaller::join(Question& question) {
  Line& line = line_of(slot_of(question.set));
  line.waiting.push_back(&question);
  line.layers += question.set.size;
  if (line.boards || (line.calls >= most_calls() && line.layers < ChainCall::kMostLayers)) return;
  line.boards = true;
  ++line.calls;
  boost::asio::co_spawn(caller_->executor(), serve(shared_from_this(), line), boost::asio::detached);
}

std::size_t ChainCaller::most_calls() const {
  return static_cast<std::size_t>(std::min(1 + call_us_ / kPerCallUs, kMostCalls));
}

// As many of those who wait as there is room for.
void ChainCaller::board(Line& line, Flight& flight) {
  flight.call.start("decide", line.waiting.front()->set.accounting);
  const auto stays = [&flight](const Question* question) { return !flight.call.add(question->set); };
  const auto rest = std::ranges::find_if(line.waiting, stays);
  flight.questions.assign(line.waiting.begin(), rest);
  line.waiting.erase(line.waiting.begin(), rest);
  for (const Question* question : flight.questions) line.layers -= question->set.size;
}

// ----------------------------------------------------------------------------------------------- flying

boost::asio::awaitable<void> ChainCaller::serve(std::shared_ptr<ChainCaller> self, Line& line) {
  const redis::Executor executor = self->caller_->executor();
  std::unique_ptr<Flight> flight = self->spares_.take();
  do {
    line.boards = true;
    co_await boost::asio::post(executor, use_awaitable);  // whoever asks in this turn travels along
    line.boards = false;
    if (line.waiting.empty()) break;  // they left with another call
    self->board(line, *flight);
    co_await self->fly(line.slot, *flight);
  } while (!line.waiting.empty());
  --line.calls;
  self->spares_.give_back(std::move(flight));
}

boost::asio::awaitable<void> ChainCaller::peek(limit::ChargeSet& set) {
  set.store_error = {};
  Question question{set, steady_clock::now(), {}};
  std::unique_ptr<Flight> flight = spares_.take();
  flight->call.start("peek", set.accounting);
  flight->call.add(set);
  flight->questions.push_back(&question);
  const redis::Slot slot = slot_of(set);
  co_await fly(slot, *flight);
  spares_.give_back(std::move(flight));
}

boost::asio::awaitable<void> ChainCaller::fly(redis::Slot slot, Flight& flight) {
  flight.call.write(flight.arguments);
  stats_.calls.fetch_add(1, std::memory_order_relaxed);
  stats_.per_call.observe(static_cast<std::int64_t>(flight.questions.size()));
  const redis::TimePoint left = steady_clock::now();
  const redis::TimePoint deadline = flight.questions.front()->asked + timeout_;
  const Result<redis::Reply> reply = co_await caller_->call(script_, slot, flight.arguments, deadline);
  if (reply) call_us_ += (micros_since(left) - call_us_) / kSmoothing;
  land(flight, reply, slot);
}

error_code ChainCaller::read(const Result<redis::Reply>& reply, const Flight& flight) {
  if (!reply) return reply.error();
  ChainAnswers answers(*reply);
  for (const Question* question : flight.questions) {
    if (!answers.read(question->set)) return redis::make_error_code(redis::ErrorKind::protocol);
  }
  return answers.complete() ? error_code() : redis::make_error_code(redis::ErrorKind::protocol);
}

// Whoever is resumed may ask again, or end: all that concerns the call itself is done before.
void ChainCaller::land(Flight& flight, const Result<redis::Reply>& reply, redis::Slot slot) {
  const error_code failed = read(reply, flight);
  if (failed && reply) caller_->distrust(slot);
  for (const Question* question : flight.questions) {
    if (failed) question->set.store_error = failed;
    if (question->set.store_error) count(question->set.store_error);
    stats_.request_us.observe(micros_since(question->asked));
  }
  for (Question*& question : flight.questions) std::exchange(question, nullptr)->asker.resume();
  flight.questions.clear();
}

void ChainCaller::count(const error_code& error) {
  const bool known = error.category() == redis::category();
  const auto kind = known ? error.value() : static_cast<int>(redis::ErrorKind::other);
  stats_.errors[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

// ---------------------------------------------------------------------------------------------- telling

void ChainCaller::tell(const limit::ChargeSet& set, std::string_view operation, std::int64_t delta) {
  std::unique_ptr<Flight> flight = spares_.take();
  flight->call.start(operation, set.store_now_ms);
  const bool tells = flight->call.add_notice(set, delta);
  if (tells) {
    redis::ScriptArguments arguments;
    flight->call.write(arguments);
    boost::asio::co_spawn(caller_->executor(),
                          deliver(shared_from_this(), slot_of(set), std::move(arguments)),
                          boost::asio::detached);
  }
  spares_.give_back(std::move(flight));
}

boost::asio::awaitable<void> ChainCaller::deliver(std::shared_ptr<ChainCaller> self, redis::Slot slot,
                                                  redis::ScriptArguments arguments) {
  const redis::TimePoint deadline = steady_clock::now() + self->timeout_;
  const Result<redis::Reply> reply = co_await self->caller_->call(self->script_, slot, arguments, deadline);
  if (!reply) self->count(reply.error());
}

}  // namespace weir::store
