// SPDX-License-Identifier: Apache-2.0
// What a LadderStore does in the background: probing the store while a breaker is open, and handing in what
// was counted alone once it is back.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>

#include "store/ladder_store.hpp"

namespace weir::store {

using limit::Charge;
using limit::ChargeSet;

namespace {

constexpr std::int64_t kHandInEveryMs = 250;

}  // namespace

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

void LadderStore::send_probe(const Charge& charge) {
  auto layer = std::make_unique<OneLayer>(charge.key, charge.policy->terms, charge.request);
  count(stats_.probes);
  boost::asio::co_spawn(parts_.executor, probe(self_, std::move(layer)), boost::asio::detached);
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
    count(self->stats_.handed_in, static_cast<std::uint64_t>(debts[n].permits));
    if (n % kAtOnce != kAtOnce - 1) continue;
    timer.expires_after(std::chrono::milliseconds(2));
    co_await timer.async_wait(token);
    if (alive.expired()) co_return;
  }
  self->handing_in_ = false;
}

}  // namespace weir::store
