// SPDX-License-Identifier: Apache-2.0
// Calls lua/chain.lua on a real server with a clock that the test sets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/script.hpp"
#include "support/redis_server.hpp"
#include "weir/limit/decision.hpp"

namespace weir::redis {
extern const Script kScriptedChain;
}

namespace weir::test {

// How much longer keys live under prelude_scripted.lua than under prelude_time.lua, by the scripted clock.
inline constexpr std::int64_t kLongerMs = 630'720'000'000;

class ScriptClient {
 public:
  explicit ScriptClient(std::uint16_t port);

  // Appends a call to a batch.
  void add(std::string& batch, const redis::ScriptArguments& arguments, std::int64_t now_ms) const;
  void add_question(std::string& batch, const limit::ChargeSet& set, std::string_view operation,
                    std::int64_t now_ms) const;
  void add_notice(std::string& batch, const limit::ChargeSet& set, std::string_view operation,
                  std::int64_t delta, std::int64_t now_ms) const;

  // One call and its answer, in the set.
  void ask(limit::ChargeSet& set, std::string_view operation, std::int64_t now_ms);
  void notify(const limit::ChargeSet& set, std::string_view operation, std::int64_t delta,
              std::int64_t now_ms);

  // How long a key lives on after a moment of the scripted clock; from the replies to PTTL and TIME.
  static std::int64_t life_of(const redis::Reply& pttl, const redis::Reply& time, std::int64_t now_ms);
  std::int64_t life_of(std::string_view key, std::int64_t now_ms);

  RespClient& raw() { return client_; }

 private:
  RespClient client_;
};

// The answer to a call of one request, into the set. False: it is none.
bool read_answer(const redis::Reply& reply, limit::ChargeSet& set);

// One layer of a set. The policy must outlive the set; the key is copied.
limit::Charge& add_layer(limit::ChargeSet& set, const limit::Policy& policy, std::string_view key,
                         std::int64_t cost = 1);

// Ready-made terms: limit per window, burst = limit, ten cells.
limit::Terms terms_of(limit::AlgorithmKind kind, std::int64_t limit, std::int64_t window_ms);

}  // namespace weir::test
