// SPDX-License-Identifier: Apache-2.0
// Who is asked, and what calls taught. Answering without the shared store is in ladder_local.cpp, what goes
// on in the background in ladder_errands.cpp.
#include "store/ladder_store.hpp"

#include <array>

#include "base/hash.hpp"
#include "redis/error.hpp"

namespace weir::store {

using limit::Charge;
using limit::ChargeSet;

namespace {

constexpr std::array<std::string_view, 3> kHealthNames{"healthy", "brief", "long"};

}  // namespace

std::string_view name_of(StoreHealth health) noexcept {
  return kHealthNames[static_cast<std::size_t>(health)];
}

LadderStore::LadderStore(Options options, const Parts& parts)
    : options_(options),
      parts_(parts),
      shares_(parts.share.shares()),
      store_ahead_ms_(parts.clock.wall_ms() - parts.clock.monotonic_ms()) {
  const std::size_t lanes = sharded() ? redis::kLanes : 1;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    lanes_.push_back(
        {Breaker(options.breaker, process_seed() ^ reinterpret_cast<std::uintptr_t>(this) ^ lane), 0, {}});
}

LadderStore::~LadderStore() = default;

redis::Slot LadderStore::slot_of(const ChargeSet& set) const {
  return sharded() && set.size > 0 ? redis::slot_of(set.charge[0].key) : redis::Slot{0};
}

LadderStore::Lane& LadderStore::lane_of(const ChargeSet& set) {
  if (!sharded() || set.size == 0) return lanes_.front();
  return lanes_[parts_.caller->lane_of(slot_of(set))];
}

// A connection that was made, and greeted, since the last failure: whoever is there answers again. Each is
// made after a jittered pause of its own, so that this brings no herd.
void LadderStore::hurry_if_new(Lane& lane, const ChargeSet& set) {
  if (parts_.caller == nullptr || lane.breaker.state() != Breaker::State::open) return;
  if (parts_.caller->came_up_after(slot_of(set), lane.failed)) lane.breaker.hurry(lane.used_ms);
}

// True if this request shall ask the shared store; sends a probe on its way where one is due.
bool LadderStore::asks(const ChargeSet& set) {
  Lane& lane = lane_of(set);
  lane.used_ms = parts_.clock.monotonic_ms();
  hurry_if_new(lane, set);
  const auto pass = lane.breaker.admit(lane.used_ms);
  if (pass == Breaker::Pass::call) return true;
  if (pass == Breaker::Pass::probe && set.size > 0) send_probe(set.charge[0]);
  count(stats_.spared);
  return false;
}

bool LadderStore::decide_now(ChargeSet& set) {
  if (parts_.shared.decide_now(set)) return true;
  if (lane_of(set).breaker.state() == Breaker::State::closed || asks(set)) return false;
  answer_here(set);
  return true;
}

boost::asio::awaitable<void> LadderStore::decide(ChargeSet& set) {
  if (!asks(set)) {
    answer_here(set);
    co_return;
  }
  co_await parts_.shared.decide(set);
  note(lane_of(set), Breaker::Pass::call, set.store_error);
  if (set.store_error) {
    answer_here(set);
  } else {
    note_uses(set);
  }
}

boost::asio::awaitable<void> LadderStore::peek(ChargeSet& set) {
  if (asks(set)) {
    co_await parts_.shared.peek(set);
    note(lane_of(set), Breaker::Pass::call, set.store_error);
    if (!set.store_error) co_return;
  }
  refresh_health();
  const auto local = std::make_unique<LocalSet>();
  gather(set, false, *local);
  if (local->set.size > 0) co_await parts_.memory.peek(local->set);
  apply(set, *local);
}

void LadderStore::settle(const ChargeSet& set, std::int64_t delta) {
  LocalSet local;
  gather_charged(set, local);
  if (local.set.size > 0) return parts_.memory.settle(local.set, delta);
  parts_.shared.settle(set, delta);
}

void LadderStore::release(const ChargeSet& set) {
  LocalSet local;
  gather_charged(set, local);
  if (local.set.size > 0) return parts_.memory.release(local.set);
  parts_.shared.release(set);
}

void LadderStore::renew(const ChargeSet& set) {
  LocalSet local;
  gather_charged(set, local);
  if (local.set.size > 0) return parts_.memory.renew(local.set);
  parts_.shared.renew(set);
}

void LadderStore::note(Lane& lane, Breaker::Pass pass, const error_code& error) {
  const std::int64_t now_ms = parts_.clock.monotonic_ms();
  const bool was_closed = lane.breaker.state() == Breaker::State::closed;
  if (error) {
    count(stats_.failures);
    stats_.last_error.store(error.value(), std::memory_order_relaxed);
  }
  if (redis::is_outage(error)) {
    lane.breaker.failed(pass, now_ms);
    lane.failed = std::chrono::steady_clock::now();
    last_outage_ms_ = now_ms;
    if (!failing_) failing_since_ms_ = now_ms;
    failing_ = true;
    stats_.failing_since_ms.store(failing_since_ms_, std::memory_order_relaxed);
  } else {
    lane.breaker.succeeded(pass, now_ms);
    if (owes_) hand_in_soon(now_ms);
  }
  if (was_closed && lane.breaker.state() != Breaker::State::closed) {
    count(stats_.opened);
    owes_ = true;
  }
  if (failing_) look_at_lanes(now_ms);
}

// Healthy again: no failure for a while, and no breaker is open. One that nobody came by any more (its node
// has lost its slots) is forgotten: who comes there again may find out again.
void LadderStore::look_at_lanes(std::int64_t now_ms) {
  const std::int64_t patience = options_.recover_after.count();
  bool open = false;
  for (Lane& lane : lanes_) {
    if (lane.breaker.state() == Breaker::State::closed) continue;
    if (now_ms - lane.used_ms < patience) {
      open = true;
    } else {
      lane.breaker = Breaker(options_.breaker, process_seed() ^ static_cast<std::uint64_t>(now_ms));
    }
  }
  stats_.breaker_open.store(open, std::memory_order_relaxed);
  if (open || now_ms - last_outage_ms_ < patience) return;
  failing_ = false;
  stats_.health.store(StoreHealth::healthy, std::memory_order_relaxed);
  stats_.failing_since_ms.store(0, std::memory_order_relaxed);
}

void LadderStore::note_uses(const ChargeSet& set) {
  store_ahead_ms_ = set.store_now_ms - parts_.clock.monotonic_ms();
  for (const Charge& charge : set.charges()) {
    if (!charge.charged) continue;
    const std::int64_t lent = charge.lease == nullptr ? 0 : charge.lease->granted;
    parts_.uses.note(counter_id(charge.key), charge.request.cost + lent);
  }
}

void LadderStore::refresh_health() {
  if (!failing_) return;
  const bool is_long = parts_.clock.monotonic_ms() - failing_since_ms_ >= options_.long_after.count();
  stats_.health.store(is_long ? StoreHealth::long_failure : StoreHealth::brief, std::memory_order_relaxed);
}

}  // namespace weir::store
