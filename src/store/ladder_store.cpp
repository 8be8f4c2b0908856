// SPDX-License-Identifier: Apache-2.0
#include "store/ladder_store.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>

#include "base/hash.hpp"
#include "redis/error.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::FailureMode;

namespace {

constexpr std::int64_t kRetryWhenShutMs = 1000;
constexpr std::int64_t kHandInEveryMs = 250;
constexpr std::array<std::string_view, 3> kHealthNames{"healthy", "brief", "long"};

void add(std::atomic<std::uint64_t>& counter, std::uint64_t count = 1) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace

std::string_view name_of(StoreHealth health) noexcept {
  return kHealthNames[static_cast<std::size_t>(health)];
}

// A layer that outlives the request it came from, and the configuration.
struct LadderStore::OneLayer {
  OneLayer(std::string_view named, const limit::Terms& terms, const limit::Request& request) : key(named) {
    policy.terms = terms;
    Charge& charge = set.charge[set.size++];
    charge.policy = &policy;
    charge.key = key;
    charge.request = request;
    charge.charged = true;
  }
  std::string key;
  limit::Policy policy;
  ChargeSet set;
};

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

// --------------------------------------------------------------------------------------------- asking

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
  if (pass == Breaker::Pass::probe && set.size > 0) {
    const Charge& first = set.charge[0];
    auto layer = std::make_unique<OneLayer>(first.key, first.policy->terms, first.request);
    add(stats_.probes);
    boost::asio::co_spawn(parts_.executor, probe(self_, std::move(layer)), boost::asio::detached);
  }
  add(stats_.spared);
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

// In the background: `alive` is empty once the store is gone.
boost::asio::awaitable<void> LadderStore::probe(std::weak_ptr<LadderStore*> alive,
                                                std::unique_ptr<OneLayer> layer) {
  if (alive.expired()) co_return;
  LadderStore* const self = *alive.lock();
  ChargeSet& set = layer->set;
  co_await self->parts_.shared.peek(set);
  if (alive.expired()) co_return;
  if (!set.store_error) self->store_ahead_ms_ = set.store_now_ms - self->parts_.clock.monotonic_ms();
  self->note(self->lane_of(set), Breaker::Pass::probe, set.store_error);
}

// Some server answers; whether it is the one that owed keys wait for is looked at now and then.
void LadderStore::hand_in_soon(std::int64_t now_ms) {
  if (handing_in_ || now_ms < next_hand_in_ms_) return;
  owes_ = ledger_.size() > 0;
  if (!owes_) return;
  handing_in_ = true;
  next_hand_in_ms_ = now_ms + kHandInEveryMs;
  boost::asio::co_spawn(parts_.executor, hand_in(self_), boost::asio::detached);
}

bool LadderStore::is_back(std::string_view key) const {
  const std::size_t lane = sharded() ? parts_.caller->lane_of(redis::slot_of(key)) : 0;
  return lanes_[lane].breaker.state() == Breaker::State::closed;
}

// A fleet that lost its store together shall not hand in together, nor all at once.
boost::asio::awaitable<void> LadderStore::hand_in(std::weak_ptr<LadderStore*> alive) {
  if (alive.expired()) co_return;
  LadderStore* const self = *alive.lock();
  constexpr std::size_t kAtOnce = 32;
  std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<std::int64_t> jitter(0, self->options_.hand_in_within.count());
  boost::asio::steady_timer timer(self->parts_.executor);
  error_code ignored;
  auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ignored);
  timer.expires_after(std::chrono::milliseconds(jitter(random)));
  co_await timer.async_wait(token);
  if (alive.expired()) co_return;
  const std::int64_t now_ms = self->store_time(self->parts_.clock.monotonic_ms());
  const auto is_back = [self](std::string_view key) { return self->is_back(key); };
  const std::vector<LadderLedger::Debt> debts = self->ledger_.take(now_ms, is_back);
  for (std::size_t n = 0; n < debts.size(); ++n) {
    OneLayer layer(debts[n].key, debts[n].policy.terms, debts[n].request);
    layer.set.store_now_ms = now_ms;
    self->parts_.shared.settle(layer.set, debts[n].permits);
    add(self->stats_.handed_in, static_cast<std::uint64_t>(debts[n].permits));
    if (n % kAtOnce != kAtOnce - 1) continue;
    timer.expires_after(std::chrono::milliseconds(2));
    co_await timer.async_wait(token);
    if (alive.expired()) co_return;
  }
  self->handing_in_ = false;
}

// ------------------------------------------------------------------------------------ what calls taught

void LadderStore::note(Lane& lane, Breaker::Pass pass, const error_code& error) {
  const std::int64_t now_ms = parts_.clock.monotonic_ms();
  const bool was_closed = lane.breaker.state() == Breaker::State::closed;
  if (error) {
    add(stats_.failures);
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
    add(stats_.opened);
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

// -------------------------------------------------------------------------------------- answering here

// The whole answer without the shared store. Never waits.
void LadderStore::answer_here(ChargeSet& set) {
  refresh_health();
  LocalSet local;
  gather(set, denies(set), local);
  if (local.set.size > 0) parts_.memory.decide_now(local.set);
  apply(set, local);
  const std::int64_t now_ms = store_time(parts_.clock.monotonic_ms());
  for (const Charge& charge : set.charges()) {
    if (charge.charged) ledger_.note(charge, charge.request.cost, now_ms);
  }
}

FailureMode LadderStore::mode_of(const Charge& charge) const {
  const bool is_long = stats_.health.load(std::memory_order_relaxed) == StoreHealth::long_failure;
  return is_long ? charge.policy->on_long_failure : charge.policy->on_brief_failure;
}

bool LadderStore::denies(const ChargeSet& set) const {
  return std::ranges::any_of(set.charges(), [this](const Charge& charge) {
    return charge.enforces() && mode_of(charge) == FailureMode::deny;
  });
}

double LadderStore::factor_of(const Charge& charge) {
  if (const std::uint64_t version = parts_.share.version(); version != shares_version_) {
    shares_ = parts_.share.shares();
    shares_version_ = version;
  }
  const auto found = shares_->of.find(counter_id(charge.key));
  if (found != shares_->of.end()) return local_factor(found->second, true);
  return local_factor(1.0 / static_cast<double>(shares_->instances), false);
}

void LadderStore::gather(const ChargeSet& set, bool denied, LocalSet& local) {
  local.set.accounting = set.accounting;
  for (std::size_t n = 0; n < set.size; ++n) {
    const Charge& charge = set.charge[n];
    if (mode_of(charge) != FailureMode::local) continue;
    local.add(charge, n, factor_of(charge), denied ? 0 : charge.request.cost);
  }
}

void LadderStore::apply(ChargeSet& set, const LocalSet& local) {
  set.store_error = {};
  for (Charge& charge : set.charges()) {
    charge.charged = false;
    charge.verdict = {.within_limit = true, .limit = charge.policy->terms.limit};
    charge.answered = Answered::failed_open;
    const FailureMode mode = mode_of(charge);
    if (mode == FailureMode::allow) add(stats_.failed_open);
    if (mode != FailureMode::deny) continue;
    charge.answered = Answered::failed_shut;
    charge.verdict.within_limit = false;
    charge.verdict.retry_after_ms = kRetryWhenShutMs;
    add(stats_.failed_shut);
  }
  for (std::size_t n = 0; n < local.set.size; ++n) {
    const Charge& counted = local.set.charge[n];
    Charge& charge = set.charge[local.origin(n)];
    charge.answered = Answered::local;
    charge.verdict = counted.verdict;
    charge.verdict.limit = charge.policy->terms.limit;
    charge.charged = counted.charged && counted.request.cost > 0;
    charge.request.now_ms = counted.request.now_ms;
    add(stats_.local);
  }
  set.store_now_ms = local.set.store_now_ms;
}

void LadderStore::gather_charged(const ChargeSet& set, LocalSet& local) {
  local.set.store_now_ms = set.store_now_ms;
  for (std::size_t n = 0; n < set.size; ++n) {
    const Charge& charge = set.charge[n];
    if (charge.answered != Answered::local || !charge.charged) continue;
    local.set.store_now_ms = charge.request.now_ms;
    local.add(charge, n, factor_of(charge), charge.request.cost);
  }
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

}  // namespace weir::store
