// SPDX-License-Identifier: Apache-2.0
// The wire between ChargeSets and lua/chain.lua: KEYS and ARGV one way, the flat array of integers the other.
// lua/README.md describes both.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "redis/script.hpp"
#include "store/packed.hpp"
#include "weir/limit/decision.hpp"

namespace weir::store {

// One call, which decides any number of requests one after the other. Each counter is in it once, with its
// terms; the requests name it by its place. Reused: start() forgets what was there and keeps the memory.
class ChainCall {
 public:
  // So that no call keeps the server for much longer than a millisecond, whatever the algorithms.
  static constexpr std::size_t kMostLayers = 128;
  static constexpr std::size_t kMostBytes = 32 * 1024;

  void start(std::string_view operation, limit::Accounting accounting);  // decide, peek
  void start(std::string_view operation, std::int64_t charged_at_ms);    // settle, release, renew

  // The next request of a decide or peek. False, and nothing is added, if it has to go into another call:
  // this one is full, counts otherwise (accounting), or has a counter of the request with other terms (a
  // reload lies between them). The first one is always taken. The set must outlive this call's use.
  bool add(const limit::ChargeSet& set);

  // What a request that is over tells. settle: the charged layers but concurrency; release, renew: the
  // charged concurrency layers. Layers that this store did not answer are left out. False: there is none,
  // nothing to send.
  bool add_notice(const limit::ChargeSet& set, std::int64_t delta);

  void write(redis::ScriptArguments& out) const;

 private:
  static constexpr std::size_t kTable = 2 * kMostLayers;  // a power of two
  static constexpr std::size_t kSearched = 16;            // policies that a new counter's is compared with
  // What the layers of a request say: the cost alone, or also the owner or lease that only this request has.
  enum class Says : std::uint8_t { cost, more };

  void start(std::string_view operation);
  bool fits(const limit::ChargeSet& set) const;
  std::size_t seat_of(std::string_view key) const;
  std::size_t place_of(const limit::Charge& charge);
  std::size_t place_of_policy(const limit::Charge& charge);
  void start_request(std::size_t layers, Says says);
  void add_layer(const limit::Charge& charge, std::int64_t cost, Says says);

  bool settles_ = false;
  limit::Accounting accounting_ = limit::Accounting::all_or_none;
  std::size_t layers_ = 0;
  std::vector<const limit::Charge*> counters_;  // of each, who named it first
  std::vector<const limit::Charge*> policies_;  // of each, who had it first
  std::array<std::uint16_t, kTable> table_;     // places in counters_ by key, from 1; 0: none
  redis::ScriptArguments keys_;
  redis::ScriptArguments head_;  // operation, detail
  Packed packed_policies_;
  Packed packed_counters_;  // policy and offset of each
  Packed requests_;
};

// Reads the answers to the requests of one call, in their order.
class ChainAnswers {
 public:
  explicit ChainAnswers(const redis::Reply& reply);

  // The next request's: fills verdicts, charged, answered, now; or store_error, if the server says that this
  // request alone could not be decided. False, with the set half filled: this is no answer to it.
  bool read(limit::ChargeSet& set);
  // All of the reply was read, and made sense.
  bool complete() const noexcept { return whole_ && finished(); }

 private:
  static constexpr std::size_t kOfLayer = 3;   // within, charged and wait in one; remaining; reset
  static constexpr std::size_t kOfLeased = 5;  // and granted, next

  bool finished() const noexcept { return next_ == elements_.size(); }
  bool read_layer(limit::Charge& charge);

  std::span<const redis::Reply> elements_;
  std::size_t next_ = 0;
  std::int64_t now_ms_ = 0;
  bool whole_ = false;
};

}  // namespace weir::store
