// SPDX-License-Identifier: Apache-2.0
// Where scripts are run: one server, or the shards of a cluster. Those who count ask here and need not know.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/script.hpp"

namespace weir::redis {

// Of a key, as the cluster specification has it: CRC16 of the hash tag, or of all of it, mod 16384.
using Slot = std::uint16_t;
inline constexpr std::size_t kSlots = 16384;
inline constexpr std::size_t kLanes = 64;
Slot slot_of(std::string_view key) noexcept;

// Threads: as Connection's, on whose executor everything happens.
class ScriptCaller {
 public:
  virtual ~ScriptCaller() = default;

  // Runs `script` where `slot` lives. All keys of one call lie in one slot if sharded(); else `slot` means
  // nothing. `script` and `arguments` must live until the reply is there. Carried out at most once.
  virtual boost::asio::awaitable<Result<Reply>> call(const Script& script, Slot slot,
                                                     const ScriptArguments& arguments,
                                                     TimePoint deadline) = 0;
  // The last reply from there cannot be an answer: its connection has lost its place.
  virtual void distrust(Slot slot) = 0;
  // Fails what waits, stops reconnecting. Idempotent.
  virtual void close() = 0;

  virtual bool sharded() const noexcept = 0;
  // Slots of one lane are served, and fail, together. Below kLanes.
  virtual std::size_t lane_of(Slot slot) const noexcept = 0;
  // True if the connection to the server of `slot` is one that came to be after `moment`.
  virtual bool came_up_after(Slot slot, TimePoint moment) const noexcept = 0;
  virtual Executor executor() const noexcept = 0;
  // ready: calls can be answered (in a cluster: each slot has a server that answers). Any thread.
  virtual const ConnectionStats& stats() const noexcept = 0;
  // How often a body had to be sent. Any thread.
  virtual std::uint64_t reloads() const noexcept = 0;
};

// True as soon as calls can be answered; false if they cannot by `deadline`. For start-up and tests.
boost::asio::awaitable<bool> wait_ready(const ScriptCaller& caller, TimePoint deadline);

// The runners of one connection, one per script that was ever called.
class ScriptRunners {
 public:
  ScriptRunners(std::shared_ptr<Connection> connection, ReloadCount reloads)
      : connection_(std::move(connection)), reloads_(std::move(reloads)) {}
  ScriptRunner& of(const Script& script);
  Connection& connection() noexcept { return *connection_; }
  const Connection& connection() const noexcept { return *connection_; }

 private:
  std::shared_ptr<Connection> connection_;
  ReloadCount reloads_;
  std::vector<std::unique_ptr<ScriptRunner>> runners_;
};

// One server.
class SingleCaller final : public ScriptCaller {
 public:
  explicit SingleCaller(std::shared_ptr<Connection> connection);

  boost::asio::awaitable<Result<Reply>> call(const Script& script, Slot slot,
                                             const ScriptArguments& arguments, TimePoint deadline) override;
  void distrust(Slot) override { runners_.connection().distrust(); }
  void close() override { runners_.connection().close(); }
  bool sharded() const noexcept override { return false; }
  std::size_t lane_of(Slot) const noexcept override { return 0; }
  bool came_up_after(Slot, TimePoint moment) const noexcept override {
    return runners_.connection().ready_since(moment);
  }
  Executor executor() const noexcept override { return runners_.connection().executor(); }
  const ConnectionStats& stats() const noexcept override { return runners_.connection().stats(); }
  std::uint64_t reloads() const noexcept override { return reloads_->load(std::memory_order_relaxed); }

 private:
  ReloadCount reloads_ = std::make_shared<std::atomic<std::uint64_t>>();
  ScriptRunners runners_;
};

}  // namespace weir::redis
