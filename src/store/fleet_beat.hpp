// SPDX-License-Identifier: Apache-2.0
// The heartbeat of this process in the shared store (lua/beat.lua): one small call a second, by one worker,
// never on a request's way. It says that the process lives, so that others know how many share a limit, and
// learns each counter's share (FleetShare) and how far the store's clock is from this host's.
//
// A beat that is not answered changes nothing: what was last known stays in force.
// Threads: the caller's executor.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "redis/script_caller.hpp"
#include "store/fleet_share.hpp"
#include "weir/base/clock.hpp"

namespace weir::store {

struct FleetBeatOptions {
  std::string node;  // instances with one name share their limits
  std::chrono::milliseconds every{1000};
  std::chrono::milliseconds life{5000};    // without a beat for so long an instance is not counted
  std::chrono::milliseconds epoch{10000};  // shares are those of one to two epochs
  std::chrono::milliseconds timeout{250};
};

class FleetBeat : public std::enable_shared_from_this<FleetBeat> {
 public:
  FleetBeat(std::shared_ptr<redis::ScriptCaller> caller, FleetShare& share, const Clock& clock,
            FleetBeatOptions options);

  // Beats until leave() or stop().
  void start();
  // Tells the others, if it can be told in one step, that this instance is gone; then `left` hears how many
  // stay, or nullopt: it could not be told.
  using Left = std::function<void(std::optional<std::size_t> stay)>;
  void leave(Left left = {});
  void stop();
  // The store's clock minus this host's, ms, at the last beat (less the way, a millisecond or so). Any
  // thread.
  static constexpr std::int64_t kUnknownOffset = INT64_MIN;
  std::int64_t clock_offset_ms() const noexcept { return clock_offset_ms_.load(std::memory_order_relaxed); }
  // One beat. False: not answered. For start() and tests.
  boost::asio::awaitable<bool> beat();

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<FleetBeat> self);
  static boost::asio::awaitable<void> part(std::shared_ptr<FleetBeat> self, Left left);
  redis::ScriptArguments open_call(std::string_view what) const;
  bool read(const redis::Reply& reply, std::span<const UseTable::Use> posted);

  std::shared_ptr<redis::ScriptCaller> caller_;
  FleetShare& share_;
  const Clock& clock_;
  const FleetBeatOptions options_;
  std::string live_key_, even_key_, odd_key_;
  std::string instance_;  // drawn by chance
  boost::asio::steady_timer timer_;
  bool stopped_ = false;
  std::atomic<std::int64_t> clock_offset_ms_{kUnknownOffset};
};

}  // namespace weir::store
