// SPDX-License-Identifier: Apache-2.0
#include "redis/script_caller.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::redis {
namespace {

// CRC-16/XMODEM: polynomial 0x1021, from 0.
constexpr std::array<std::uint16_t, 256> kCrc = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned value = byte << 8;
    for (int bit = 0; bit < 8; ++bit) value = (value << 1) ^ ((value & 0x8000) != 0 ? 0x1021 : 0);
    table[byte] = static_cast<std::uint16_t>(value);
  }
  return table;
}();

std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t end = key.find('}', open + 1);
  if (end == std::string_view::npos || end == open + 1) return key;
  return key.substr(open + 1, end - open - 1);
}

}  // namespace

Slot slot_of(std::string_view key) noexcept {
  std::uint16_t crc = 0;
  for (const char byte : hashed_part(key)) {
    const auto index = static_cast<std::size_t>((crc >> 8) ^ static_cast<unsigned char>(byte));
    crc = static_cast<std::uint16_t>((crc << 8) ^ kCrc[index & 0xFF]);
  }
  return crc % kSlots;
}

boost::asio::awaitable<bool> wait_ready(const ScriptCaller& caller, TimePoint deadline) {
  boost::asio::steady_timer timer(caller.executor());
  error_code ignored;
  auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ignored);
  const auto ready = [&caller] { return caller.stats().ready.load(std::memory_order_relaxed); };
  while (!ready() && std::chrono::steady_clock::now() < deadline) {
    timer.expires_after(std::chrono::milliseconds(1));
    co_await timer.async_wait(token);
  }
  co_return ready();
}

ScriptRunner& ScriptRunners::of(const Script& script) {
  const auto is_it = [&](const auto& runner) { return &runner->script() == &script; };
  const auto found = std::ranges::find_if(runners_, is_it);
  if (found != runners_.end()) return **found;
  return *runners_.emplace_back(std::make_unique<ScriptRunner>(connection_, script, reloads_));
}

SingleCaller::SingleCaller(std::shared_ptr<Connection> connection)
    : runners_(std::move(connection), reloads_) {}

boost::asio::awaitable<Result<Reply>> SingleCaller::call(const Script& script, Slot,
                                                         const ScriptArguments& arguments,
                                                         TimePoint deadline) {
  return runners_.of(script).run(arguments, deadline);
}

}  // namespace weir::redis
