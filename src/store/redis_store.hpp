// SPDX-License-Identifier: Apache-2.0
// Counters in a Redis server shared by all gateways: one EVALSHA of lua/chain.lua decides the whole chains of
// all requests that ask together (ChainCaller). In a cluster all keys of a set lie in one slot (SlotStore
// sees to it).
//
// decide() and peek() end within the timeout. On any failure set.store_error is of category weir.redis and
// the verdicts mean nothing; whether the call was charged is then unknown, and it is not repeated. settle,
// release and renew go out in the background, at most once; a slot whose release is lost expires by itself.
//
// Threads: one store, one connection and one loop per worker; stats() from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "redis/script_caller.hpp"
#include "store/chain_caller.hpp"
#include "store/store_check.hpp"
#include "weir/limit/counter_store.hpp"
#include "weir/store/options.hpp"

namespace weir::store {

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
  std::shared_ptr<ChainCaller> chain_;  // shared with what is still under way
};

}  // namespace weir::store
