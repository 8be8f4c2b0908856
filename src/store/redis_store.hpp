// SPDX-License-Identifier: Apache-2.0
// Counters in a Redis server shared by all gateways: one EVALSHA of lua/chain.lua decides a whole chain. In a
// cluster all keys of a set lie in one slot (SlotStore sees to it).
//
// decide() and peek() end within the timeout. On any failure set.store_error is of category weir.redis and
// the verdicts mean nothing; whether the call was charged is then unknown, and it is not repeated. settle,
// release and renew go out in the background, at most once; a slot whose release is lost expires by itself.
//
// Threads: one store, one connection and one loop per worker; stats() from any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "redis/script_caller.hpp"
#include "store/store_check.hpp"
#include "telemetry/counters.hpp"
#include "weir/limit/counter_store.hpp"
#include "weir/store/options.hpp"

namespace weir::store {

// Monotone counts of one worker's store.
struct RedisStoreStats {
  std::atomic<std::uint64_t> calls{0};
  std::array<std::atomic<std::uint64_t>, redis::kErrorKinds> errors{};  // by redis::ErrorKind
  telemetry::Histogram call_us{telemetry::kQuickBounds};  // from the question to its answer or failure
};

redis::ConnectionOptions connection_options(const StoreOptions& options);
// Begins to connect to what the options name: one server, one found by Sentinels, or a cluster.
// `check`: each server is looked at when it is connected to; may be null. `max_reply_bytes`: of one reply.
std::shared_ptr<redis::ScriptCaller> make_caller(
    redis::Executor executor, const StoreOptions& options, std::shared_ptr<StoreCheck> check = nullptr,
    std::size_t max_reply_bytes = redis::ConnectionOptions{}.max_reply_bytes);

class RedisStore final : public limit::CounterStore {
 public:
  // The caller belongs to the store's loop; whoever made it closes it. Tests bring a script with a clock of
  // their own.
  RedisStore(std::shared_ptr<redis::ScriptCaller> caller, std::chrono::milliseconds timeout,
             const redis::Script& script = redis::kChain);
  ~RedisStore() override;

  bool decide_now(limit::ChargeSet& set) override;  // always false: there is always something to wait for
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override;
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override;
  void settle(const limit::ChargeSet& set, std::int64_t delta) override;
  void release(const limit::ChargeSet& set) override;
  void renew(const limit::ChargeSet& set) override;

  const RedisStoreStats& stats() const noexcept;
  const redis::ConnectionStats& connection_stats() const noexcept;
  redis::ScriptCaller& caller() noexcept;
  // How often the server did not know the script (a restart, a fail-over, a SCRIPT FLUSH).
  std::uint64_t script_reloads() const noexcept;

 private:
  struct Link;

  boost::asio::awaitable<void> ask(limit::ChargeSet& set, std::string_view operation);
  void tell(const limit::ChargeSet& set, std::string_view operation, std::int64_t delta);
  redis::Slot slot_of(const limit::ChargeSet& set) const;
  static boost::asio::awaitable<void> deliver(std::shared_ptr<Link> link, redis::Slot slot,
                                              redis::ScriptArguments arguments);

  std::shared_ptr<Link> link_;  // shared with what is still under way in the background
  std::vector<std::unique_ptr<redis::ScriptArguments>> spare_;
};

}  // namespace weir::store
