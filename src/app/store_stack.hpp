// SPDX-License-Identifier: Apache-2.0
// The counter stores of one worker, outermost first. Memory: the process's own store alone. Redis: layers
// that count per process (ScopeStore), then what to do while Redis is ill (LadderStore), then Redis
// itself, over one pipelined connection of this worker's.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "redis/script_caller.hpp"
#include "store/ladder_store.hpp"
#include "store/memory_store.hpp"
#include "store/redis_store.hpp"
#include "store/scope_store.hpp"
#include "weir/base/clock.hpp"
#include "weir/store/options.hpp"

namespace weir::app {

class StoreStack {
 public:
  // Begins to connect at once; serves with Redis absent.
  StoreStack(boost::asio::io_context& io, const store::StoreOptions& options, store::MemoryStore& memory,
             const Clock& clock);

  limit::CounterStore& top() noexcept { return *top_; }

  // On the worker's thread: ends the connection, so that the loop can end.
  void close();

  // nullptr in memory mode. Their statistics are readable from any thread.
  const store::RedisStore* redis() const noexcept { return redis_.get(); }
  const store::LadderStore* ladder() const noexcept { return ladder_.get(); }

 private:
  std::shared_ptr<redis::ScriptCaller> caller_;
  std::unique_ptr<store::RedisStore> redis_;
  std::unique_ptr<store::LadderStore> ladder_;
  std::unique_ptr<store::ScopeStore> scope_;
  limit::CounterStore* top_;
};

}  // namespace weir::app
