// SPDX-License-Identifier: Apache-2.0
// The wire between a PoolStore and lua/pool.lua: KEYS and ARGV one way, the flat array of integers the other.
// lua/README.md describes both.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "redis/script.hpp"
#include "store/packed.hpp"
#include "weir/limit/decision.hpp"

namespace weir::store {

// Where a region keeps the permits that it holds of a counter: beside it in the key space, and in its slot.
std::string pool_key(std::string_view counter);

// The order to ask the parent, and what to tell it then. Moments are by the clock of the region's store.
struct PoolOrder {
  std::int64_t ticket = 0;     // which the pool gave out; good for one answer
  std::int64_t asked_ms = 0;   // before the parent is asked
  double rate = 0;             // permits per second that the region asks for
  double fleet_rate = 0;       // permits per second that all regions take; 0: not known yet
  std::int64_t left_ms = -1;   // until the window or cell ends; -1: never, or not known
  std::int64_t age_ms = -1;    // since the parent was heard last; -1: never
  std::int64_t tag_ms = -1;    // from then to the end of what was its window; -1: none
  std::int64_t remaining = 0;  // as the parent said then
  std::array<limit::Lease::Spent, 2> back;
  std::array<limit::Lease::Spent, 2> spent;
  limit::Lease::Seen seen;
};

// What the pool says of one layer.
struct PoolAnswer {
  enum class Status : std::uint8_t {
    empty,    // only the parent knows
    covered,  // permits are there; another layer refuses, so none was taken
    denied,   // known to be over its limit
    taken,    // the cost, and the gateway's lease
  };
  Status status = Status::empty;
  std::int64_t now_ms = 0;      // by the clock of the region's store
  std::int64_t remaining = -1;  // as the parent said last, and what is held; -1: not known
  std::int64_t reset_ms = 0;
  std::int64_t wait_ms = 0;  // until it is worth asking again; 0: now
  std::int64_t granted = 0;  // beyond the cost
  std::int64_t at_ms = 0;    // parent's clock: when what was taken was charged there; 0: nothing was
  std::int64_t life_ms = 0;  // until that may not be used any more
  std::int64_t live = 0;     // permits left
  std::int64_t live_ms = 0;  // until the last of them are over
  std::int64_t rest = 0;     // permits that are over, for the parent
  std::optional<PoolOrder> order;
  bool fetching = false;  // another one has the order, and has not said yet what the parent answered
};

// One call. Reused: start() forgets what was there.
class PoolCall {
 public:
  void start(std::string_view operation, std::int64_t server);
  void add_key(std::string_view counter);
  void add(std::int64_t value) { asked_.add(value); }
  // A layer of `take`. reports: what its lease gives back, used and was asked for is news.
  enum class Reports : std::uint8_t { yes, no };
  void add_layer(const limit::Charge& charge, Reports reports);

  const redis::ScriptArguments& write();

 private:
  std::string operation_;
  std::size_t count_ = 0;
  redis::ScriptArguments keys_;
  Packed asked_;
  redis::ScriptArguments all_;
};

// Reads a reply to `take` or `sweep`, layer by layer.
class PoolAnswers {
 public:
  // `ticket`: what was sent for an order.
  PoolAnswers(const redis::Reply& reply, std::int64_t ticket);

  // False: this is no answer to that call.
  bool read(PoolAnswer& answer);
  bool complete() const noexcept { return whole_ && next_ == elements_.size(); }

 private:
  static constexpr std::size_t kFields = 11;
  static constexpr std::size_t kOfOrder = 17;
  void read_order(PoolOrder& order);

  std::span<const redis::Reply> elements_;
  std::size_t next_ = 0;
  std::int64_t ticket_;
  std::int64_t now_ms_ = 0;
  bool whole_ = false;
};

}  // namespace weir::store
