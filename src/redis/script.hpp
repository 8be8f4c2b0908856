// SPDX-License-Identifier: Apache-2.0
// Lua scripts called by SHA1. Only an explicit NOSCRIPT, which says that nothing was carried out, is answered
// by sending again: the body by EVAL (which also loads it), or, where an EVAL is already behind the failed
// call in the pipeline, the SHA1 once more. Hence a flushed script cache costs one EVAL, however many calls
// wait.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "redis/connection.hpp"

namespace weir::redis {

struct Script {
  std::string_view name;
  std::string_view sha1;  // of the body: 40 lower-case hex digits, as the server computes it
  std::string_view body;
};

// lua/chain.lua, pool.lua, beat.lua, forget.lua and published.lua, embedded by the build.
extern const Script kChain;
extern const Script kPool;
extern const Script kBeat;
extern const Script kForget;
extern const Script kPublished;

// KEYS and ARGV of one call, already in RESP, so that a repeated call need not encode them again.
struct ScriptArguments {
  std::string tail;
  std::size_t words = 0;

  void clear() {
    tail.clear();
    words = 0;
  }
  void start(std::size_t keys) { add(static_cast<std::int64_t>(keys)); }
  void add(std::string_view word);
  void add(std::int64_t word);
  void add(const ScriptArguments& more);  // all its words
};

// How often the body of a script had to be sent; shared by the runners of one caller. Any thread.
using ReloadCount = std::shared_ptr<std::atomic<std::uint64_t>>;

// asking: each send follows an ASKING, which lets a cluster node answer for a slot that it is about to own.
enum class Asking : std::uint8_t { no, yes };

// Calls one script over one connection. Not thread-safe, except reloads().
class ScriptRunner {
 public:
  ScriptRunner(std::shared_ptr<Connection> connection, const Script& script,
               ReloadCount reloads = std::make_shared<std::atomic<std::uint64_t>>());

  // `arguments` must live until the result is there. Sent at most three times, carried out at most once.
  boost::asio::awaitable<Result<Reply>> run(const ScriptArguments& arguments, TimePoint deadline,
                                            Asking asking = Asking::no);

  const Script& script() const noexcept { return script_; }
  std::uint64_t reloads() const noexcept { return reloads_->load(std::memory_order_relaxed); }

 private:
  void encode(bool by_body, const ScriptArguments& arguments);

  std::shared_ptr<Connection> connection_;
  const Script& script_;
  std::string request_;              // scratch
  std::uint64_t loaded_behind_ = 0;  // pipeline position of the last EVAL
  ReloadCount reloads_;
};

}  // namespace weir::redis
