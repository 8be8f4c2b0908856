// SPDX-License-Identifier: Apache-2.0
// Asks lua/chain.lua on a server, many requests a call.
//
// Requests that ask in the same turn of the event loop leave as one call, and so do those that come while
// calls are under way: of those there is one for each millisecond that a call takes, so that nobody waits for
// the calls of others much longer than one. A server that is near then sees few and large calls whatever the
// load, and one that is far away is asked at once. A call that is full leaves at once in any case. The script
// decides the requests of a call one after the other, exactly as it would in calls of their own.
//
// In a cluster the requests of a call lie in one slot.
//
// A call ends within the timeout of its oldest request; as calls leave in order, so does every request of its
// own.
//
// Threads: all on the ScriptCaller's executor; stats() from any thread.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "net/parked.hpp"
#include "redis/script_caller.hpp"
#include "store/chain_call.hpp"
#include "store/spares.hpp"
#include "telemetry/counters.hpp"
#include "weir/limit/decision.hpp"

namespace weir::store {

// Upper bounds for requests per call.
inline constexpr std::array<std::int64_t, 7> kPerCallBounds{1, 2, 4, 8, 16, 32, 64};

// Monotone counts of one worker's store.
struct RedisStoreStats {
  std::atomic<std::uint64_t> calls{0};  // of decide and peek
  std::array<std::atomic<std::uint64_t>, redis::kErrorKinds>
      errors{};                                              // unanswered requests by redis::ErrorKind
  telemetry::Histogram request_us{telemetry::kQuickBounds};  // from the question to its answer or failure
  telemetry::Histogram per_call{kPerCallBounds};             // requests that one call decided
};

class ChainCaller : public std::enable_shared_from_this<ChainCaller> {
 public:
  ChainCaller(std::shared_ptr<redis::ScriptCaller> caller, std::chrono::milliseconds timeout,
              const redis::Script& script);
  ~ChainCaller();
  ChainCaller(const ChainCaller&) = delete;
  ChainCaller& operator=(const ChainCaller&) = delete;

  // Fills the set; set.store_error if it was not answered. The set must live until then.
  boost::asio::awaitable<void> decide(limit::ChargeSet& set);
  // In a call of its own.
  boost::asio::awaitable<void> peek(limit::ChargeSet& set);
  // In the background, at most once. The set is not used after this returns.
  void tell(const limit::ChargeSet& set, std::string_view operation, std::int64_t delta);

  const RedisStoreStats& stats() const noexcept { return stats_; }
  redis::ScriptCaller& caller() const noexcept { return *caller_; }

 private:
  // A request that waits for its answer; in its coroutine's frame.
  struct Question {
    limit::ChargeSet& set;
    redis::TimePoint asked;
    net::Parked<> asker;
  };
  // A call under way and all that it needs, used again and again.
  struct Flight {
    ~Flight();
    ChainCall call;
    redis::ScriptArguments arguments;
    std::vector<Question*> questions;
  };
  // Who waits for a call to the same slot, in order, and how many calls are under way to it.
  struct Line {
    ~Line();
    redis::Slot slot = 0;
    std::vector<Question*> waiting;
    std::size_t layers = 0;  // of those who wait
    std::size_t calls = 0;
    bool boards = false;  // a call leaves at the end of this turn
  };

  redis::Slot slot_of(const limit::ChargeSet& set) const;
  Line& line_of(redis::Slot slot);
  void join(Question& question);
  std::size_t most_calls() const;
  void board(Line& line, Flight& flight);
  static boost::asio::awaitable<void> serve(std::shared_ptr<ChainCaller> self, Line& line);
  boost::asio::awaitable<void> fly(redis::Slot slot, Flight& flight);
  static error_code read(const Result<redis::Reply>& reply, const Flight& flight);
  void land(Flight& flight, const Result<redis::Reply>& reply, redis::Slot slot);
  void count(const error_code& error);
  static boost::asio::awaitable<void> deliver(std::shared_ptr<ChainCaller> self, redis::Slot slot,
                                              redis::ScriptArguments arguments);

  std::shared_ptr<redis::ScriptCaller> caller_;
  const redis::Script& script_;
  std::chrono::milliseconds timeout_;
  std::vector<std::unique_ptr<Line>> lines_;  // as many as ever were in use at once
  Spares<Flight> spares_;
  std::int64_t call_us_ = 0;  // what a call takes, smoothed
  RedisStoreStats stats_;
};

}  // namespace weir::store
