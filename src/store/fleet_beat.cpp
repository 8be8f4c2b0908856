// SPDX-License-Identifier: Apache-2.0
#include "store/fleet_beat.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>

#include "base/hash.hpp"
#include "weir/base/append.hpp"

namespace weir::store {
namespace {

constexpr std::size_t kHead = 3;  // instances, epoch, clock

std::string hex(std::uint64_t value) {
  return std::string(Digits<16>(value));
}

}  // namespace

FleetBeat::FleetBeat(std::shared_ptr<redis::ScriptCaller> caller, FleetShare& share, const Clock& clock,
                     FleetBeatOptions options)
    : caller_(std::move(caller)),
      share_(share),
      clock_(clock),
      options_(std::move(options)),
      timer_(caller_->executor()) {
  // Hashed: a node's name may hold anything, also what would be a hash tag of its own.
  const std::string tag = "w1:{beat:" + hex(stable_hash(options_.node)) + "}:";
  live_key_ = tag + "live";
  even_key_ = tag + "even";
  odd_key_ = tag + "odd";
  std::random_device device;
  instance_ = hex((std::uint64_t{device()} << 32) | device());
}

void FleetBeat::start() {
  boost::asio::co_spawn(caller_->executor(), run(shared_from_this()), boost::asio::detached);
}

void FleetBeat::leave(Left left) {
  const bool can_tell = !stopped_ && caller_->stats().ready.load(std::memory_order_relaxed);
  stop();
  if (can_tell) {
    boost::asio::co_spawn(caller_->executor(), part(shared_from_this(), std::move(left)),
                          boost::asio::detached);
  } else if (left) {
    left(std::nullopt);
  }
}

void FleetBeat::stop() {
  stopped_ = true;
  timer_.cancel();
}

boost::asio::awaitable<void> FleetBeat::run(std::shared_ptr<FleetBeat> self) {
  std::minstd_rand random(std::random_device{}());
  const auto every = self->options_.every.count();
  std::uniform_int_distribution<std::int64_t> jittered(every * 9 / 10, every * 11 / 10);
  error_code ignored;
  auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ignored);
  while (!self->stopped_) {
    const bool answered = co_await self->beat();
    if (self->stopped_) co_return;
    // The first one soon: until it is answered nobody knows of this instance.
    const auto pause = answered || self->share_.heard() > 0 ? jittered(random) : every / 10;
    self->timer_.expires_after(std::chrono::milliseconds(pause));
    co_await self->timer_.async_wait(token);
  }
}

redis::ScriptArguments FleetBeat::open_call(std::string_view what) const {
  redis::ScriptArguments arguments;
  arguments.start(3);
  for (const std::string* key : {&live_key_, &even_key_, &odd_key_}) arguments.add(*key);
  arguments.add(instance_);
  arguments.add(std::int64_t{options_.life.count()});
  arguments.add(std::int64_t{options_.epoch.count()});
  arguments.add(what);
  return arguments;
}

boost::asio::awaitable<bool> FleetBeat::beat() {
  if (!caller_->stats().ready.load(std::memory_order_relaxed)) co_return false;
  const std::vector<UseTable::Use> posted = share_.collect();
  redis::ScriptArguments arguments = open_call("beat");
  for (const UseTable::Use& use : posted) {
    arguments.add(hex(use.counter));
    arguments.add(use.permits);
  }
  const redis::Slot slot = redis::slot_of(live_key_);
  const redis::TimePoint deadline = std::chrono::steady_clock::now() + options_.timeout;
  const Result<redis::Reply> reply = co_await caller_->call(redis::kBeat, slot, arguments, deadline);
  co_return reply&& read(*reply, posted);
}

boost::asio::awaitable<void> FleetBeat::part(std::shared_ptr<FleetBeat> self, Left left) {
  const redis::ScriptArguments arguments = self->open_call("leave");
  const redis::Slot slot = redis::slot_of(self->live_key_);
  const redis::TimePoint deadline = std::chrono::steady_clock::now() + self->options_.timeout;
  const Result<redis::Reply> reply = co_await self->caller_->call(redis::kBeat, slot, arguments, deadline);
  if (!left) co_return;
  const bool told = reply && reply->elements.size() == kHead && reply->elements[0].integer >= 0;
  left(told ? std::optional(static_cast<std::size_t>(reply->elements[0].integer)) : std::nullopt);
}

bool FleetBeat::read(const redis::Reply& reply, std::span<const UseTable::Use> posted) {
  if (reply.type != redis::Reply::Type::array || reply.elements.size() != kHead + posted.size()) return false;
  std::vector<std::int64_t> numbers;
  for (const redis::Reply& element : reply.elements) {
    if (element.type != redis::Reply::Type::integer || element.integer < 0) return false;
    numbers.push_back(element.integer);
  }
  const std::span<const std::int64_t> fleet(numbers.data() + kHead, posted.size());
  clock_offset_ms_.store(numbers[2] - clock_.wall_ms(), std::memory_order_relaxed);
  share_.learn(static_cast<std::size_t>(numbers[0]), numbers[1], posted, fleet);
  return true;
}

}  // namespace weir::store
