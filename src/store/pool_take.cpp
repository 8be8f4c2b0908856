// SPDX-License-Identifier: Apache-2.0
// What a PoolStore asks its region's store beside a request: takes what is there, and puts back what was
// taken in vain.
#include <algorithm>
#include <array>
#include <utility>

#include "redis/error.hpp"
#include "store/pool_work.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using Status = PoolAnswer::Status;

boost::asio::awaitable<PoolStore::Told> PoolStore::take(ChargeSet& set, Work& work) {
  work.refused = false;
  std::fill_n(work.asked.begin(), set.size, false);
  Told told = Told::answered;
  for (std::size_t first = 0; first < set.size && told == Told::answered && !work.refused; ++first) {
    if (work.asked[first]) continue;
    std::array<std::uint8_t, limit::kMaxLayers> members;
    std::size_t count = 0;
    const redis::Slot slot = slot_of(set.charge[first].key);
    for (std::size_t n = first; n < set.size; ++n) {
      if (slot_of(set.charge[n].key) != slot) continue;
      members[count++] = static_cast<std::uint8_t>(n);
    }
    const Members part(members.data(), count);
    told = co_await take_part(set, work, part);
    const bool some_know = first > 0;
    if (told == Told::unasked && some_know) told = Told::unanswered;
    for (const std::uint8_t n : part) work.asked[n] = told == Told::answered;
  }
  if (told != Told::answered || work.refused) put_back(set, work, Part::all);
  co_return told;
}

boost::asio::awaitable<PoolStore::Told> PoolStore::take_part(ChargeSet& set, Work& work, Members members) {
  const redis::Slot slot = slot_of(set.charge[members.front()].key);
  Lane& lane = lane_of(slot);
  if (lane.breaker.state() == Breaker::State::open && parts_.region->came_up_after(slot, lane.failed))
    lane.breaker.hurry(parts_.clock.monotonic_ms());
  const Breaker::Pass pass = lane.breaker.admit(parts_.clock.monotonic_ms());
  if (pass == Breaker::Pass::refused) co_return Told::unasked;
  const bool known = co_await knows_server(lane, slot);
  if (!known) {
    lane.breaker.failed(pass, parts_.clock.monotonic_ms());
    lane.failed = std::chrono::steady_clock::now();
    co_return Told::unasked;
  }
  const std::int64_t ticket = draining_ ? 0 : next_ticket();  // 0: asks for no order
  const auto ahead = std::min(parts_.lease.ahead, parts_.lease.max_age / 4);
  PoolCall& asked = work.call;
  asked.start("take", lane.server);
  asked.add(ticket);
  asked.add(static_cast<std::int64_t>(hot_rate(parts_.lease) * 1000));
  asked.add(ahead.count());
  asked.add(hold_ms());
  for (const std::uint8_t n : members) asked.add_layer(set.charge[n], work.reports);
  const Result<redis::Reply> reply = co_await call(set.charge[members.front()].key, asked);
  const std::int64_t now_ms = parts_.clock.monotonic_ms();
  const bool outage = !reply && redis::is_outage(reply.error());
  if (outage) {
    lane.breaker.failed(pass, now_ms);
    lane.failed = std::chrono::steady_clock::now();
  } else {
    lane.breaker.succeeded(pass, now_ms);
  }
  // From another server than the one that was asked for its name: that may be a copy that lags behind.
  if (!reply || parts_.region->came_up_after(slot, lane.verified)) co_return Told::unanswered;
  if (read(*reply, set, work, members, ticket)) co_return Told::answered;
  parts_.region->distrust(slot);
  co_return Told::unanswered;
}

bool PoolStore::read(const redis::Reply& reply, ChargeSet& set, Work& work, Members members,
                     std::int64_t ticket) {
  PoolAnswers answers(reply, ticket);
  for (const std::uint8_t n : members) {
    if (!answers.read(work.answer[n])) return false;
  }
  if (!answers.complete()) return false;
  const std::int64_t now_ms = parts_.clock.monotonic_ms();
  for (const std::uint8_t n : members) {
    const PoolAnswer& found = work.answer[n];
    parts_.pools.note(set.charge[n], found, now_ms);
    work.refused = work.refused || (found.status == Status::denied && set.charge[n].enforces());
  }
  return true;
}

// The pool's answers, into the set; what is missing, into the work.
void PoolStore::write_down(ChargeSet& set, Work& work) {
  work.missing.set.clear();
  work.missing.set.accounting = set.accounting;
  const std::int64_t now_ms = parts_.clock.monotonic_ms();
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    const PoolAnswer found = work.asked[n] ? work.answer[n] : PoolAnswer();
    if (is_missing(found, charge) && !work.refused) {
      work.missing.add(charge, n);
      continue;
    }
    stats_.pooled.fetch_add(1, std::memory_order_relaxed);
    const limit::Terms& terms = charge.policy->terms;
    const bool taken = found.status == Status::taken && !work.refused;
    const std::int64_t capacity = limit::capacity_of(terms);
    if (found.at_ms > 0) parent_ahead_ms_ = found.at_ms - now_ms;
    charge.answered = Answered::store;
    charge.charged = taken && charge.request.cost > 0;
    charge.request.now_ms = found.at_ms > 0 ? found.at_ms : now_ms + parent_ahead_ms_;
    const bool within = found.status != Status::denied;
    charge.verdict = {.within_limit = within,
                      .limit = terms.limit,
                      .remaining = found.remaining < 0 ? capacity : std::min(found.remaining, capacity),
                      .retry_after_ms = within ? 0 : std::max<std::int64_t>(1, found.wait_ms),
                      .reset_ms = found.reset_ms};
    if (charge.lease == nullptr) continue;
    charge.lease->granted = taken ? found.granted : 0;
    charge.lease->next_ms = charge.lease->granted == 0 ? found.wait_ms : 0;
    if (taken && found.granted > 0) charge.lease->life_ms = std::min(charge.lease->life_ms, found.life_ms);
  }
  if (set.size > 0) set.store_now_ms = set.charge[0].request.now_ms;
}

void PoolStore::put_back(ChargeSet& set, const Work& work, Part what) {
  for (std::size_t n = 0; n < set.size; ++n) {
    Charge& charge = set.charge[n];
    const PoolAnswer& found = work.answer[n];
    const std::int64_t lent = what == Part::all ? found.granted : 0;
    if (!work.asked[n] || found.status != Status::taken || charge.request.cost + lent == 0) continue;
    auto asked = std::make_unique<PoolCall>();
    asked->start("put", lane_of(slot_of(charge.key)).server);
    asked->add_key(charge.key);
    asked->add(charge.request.cost);
    asked->add(lent);
    asked->add(found.at_ms);
    spawn(tell(std::string(charge.key), std::move(asked)));
    if (what == Part::all && charge.lease != nullptr) charge.lease->granted = 0;
    if (!std::exchange(charge.charged, false)) continue;
    charge.verdict.remaining =
        std::min(charge.verdict.remaining + charge.request.cost, limit::capacity_of(charge.policy->terms));
  }
}

}  // namespace weir::store
