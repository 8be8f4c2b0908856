// SPDX-License-Identifier: Apache-2.0
#include "store/slot_store.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <vector>

namespace weir::store {

using limit::Charge;
using limit::ChargeSet;

namespace {

bool one_slot(const ChargeSet& set) {
  if (set.size < 2) return true;
  const redis::Slot first = redis::slot_of(set.charge[0].key);
  return std::ranges::all_of(set.charges().subspan(1),
                             [first](const Charge& charge) { return redis::slot_of(charge.key) == first; });
}

}  // namespace

// The charges alone; their keys stay in the whole.
struct SlotStore::Parts {
  struct Part {
    ChargeSet set;
    redis::Slot slot = 0;
    std::array<std::uint8_t, limit::kMaxLayers> origin;
  };
  std::vector<std::unique_ptr<Part>> part;
  std::size_t used = 0;

  Part& of(redis::Slot slot, const ChargeSet& whole) {
    for (std::size_t n = 0; n < used; ++n) {
      if (part[n]->slot == slot) return *part[n];
    }
    if (used == part.size()) part.push_back(std::make_unique<Part>());
    Part& fresh = *part[used++];
    fresh.set.clear();
    fresh.set.accounting = whole.accounting;
    fresh.slot = slot;
    return fresh;
  }
  void split(const ChargeSet& whole) {
    used = 0;
    for (std::size_t n = 0; n < whole.size; ++n) {
      const Charge& charge = whole.charge[n];
      Part& to = of(redis::slot_of(charge.key), whole);
      // Each node has a clock of its own: settling refers to that of the node which charged.
      if (to.set.size == 0) to.set.store_now_ms = charge.request.now_ms;
      to.origin[to.set.size] = static_cast<std::uint8_t>(n);
      to.set.charge[to.set.size++] = charge;
    }
  }
  void join(ChargeSet& whole) const {
    for (std::size_t p = 0; p < used; ++p) {
      const Part& from = *part[p];
      for (std::size_t n = 0; n < from.set.size; ++n) whole.charge[from.origin[n]] = from.set.charge[n];
    }
    whole.store_now_ms = part[0]->set.store_now_ms;
    whole.store_error = {};
  }
};

SlotStore::SlotStore(limit::CounterStore& below, redis::Executor executor)
    : below_(below), executor_(executor) {}

SlotStore::~SlotStore() = default;

std::unique_ptr<SlotStore::Parts> SlotStore::take(const ChargeSet& set) {
  std::unique_ptr<Parts> parts = spares_.take();
  parts->split(set);
  return parts;
}

bool SlotStore::decide_now(ChargeSet& set) {
  return one_slot(set) && below_.decide_now(set);
}

boost::asio::awaitable<void> SlotStore::decide(ChargeSet& set) {
  return ask(set, Question::decide);
}

boost::asio::awaitable<void> SlotStore::peek(ChargeSet& set) {
  return ask(set, Question::peek);
}

boost::asio::awaitable<void> SlotStore::ask_part(Parts& parts, std::size_t part, Question question) {
  ChargeSet& set = parts.part[part]->set;
  if (question == Question::peek) {
    co_await below_.peek(set);
  } else if (!below_.decide_now(set)) {
    co_await below_.decide(set);
  }
}

boost::asio::awaitable<void> SlotStore::ask(ChargeSet& set, Question question) {
  if (one_slot(set)) {
    if (question == Question::peek) co_return co_await below_.peek(set);
    co_return co_await below_.decide(set);
  }
  std::unique_ptr<Parts> parts = take(set);
  std::size_t left = parts->used - 1;
  boost::asio::steady_timer all_done(executor_, boost::asio::steady_timer::time_point::max());
  for (std::size_t n = 1; n < parts->used; ++n) {
    boost::asio::co_spawn(executor_, ask_part(*parts, n, question), [&](const std::exception_ptr&) {
      if (--left == 0) all_done.cancel();
    });
  }
  co_await ask_part(*parts, 0, question);
  error_code ignored;
  auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ignored);
  if (left > 0) co_await all_done.async_wait(token);
  parts->join(set);
  if (question == Question::decide) account(set);
  spares_.give_back(std::move(parts));
}

// One layer as a set of its own.
void SlotStore::give_back(Charge& charge) {
  ChargeSet one;
  one.charge[0] = charge;
  one.size = 1;
  one.store_now_ms = charge.request.now_ms;
  below_.release(one);
  if (charge.answered == limit::Answered::local) below_.settle(one, -charge.request.cost);
  charge.charged = false;
}

void SlotStore::account(ChargeSet& set) {
  const bool refused = std::ranges::any_of(set.charges(), &Charge::refuses);
  stats_.split.fetch_add(1, std::memory_order_relaxed);
  std::int64_t charged = 0;
  std::int64_t wasted = 0;
  for (Charge& charge : set.charges()) {
    if (!charge.charged) continue;
    charged += charge.request.cost;
    if (!refused || set.accounting == limit::Accounting::relaxed) continue;
    if (charge.is_slot() || charge.answered == limit::Answered::local) {
      give_back(charge);
    } else {
      wasted += charge.request.cost;
    }
  }
  stats_.charged.fetch_add(static_cast<std::uint64_t>(charged), std::memory_order_relaxed);
  stats_.wasted.fetch_add(static_cast<std::uint64_t>(wasted), std::memory_order_relaxed);
}

void SlotStore::settle(const ChargeSet& set, std::int64_t delta) {
  const std::unique_ptr<Parts> parts = take(set);
  for (std::size_t n = 0; n < parts->used; ++n) below_.settle(parts->part[n]->set, delta);
}

void SlotStore::release(const ChargeSet& set) {
  const std::unique_ptr<Parts> parts = take(set);
  for (std::size_t n = 0; n < parts->used; ++n) below_.release(parts->part[n]->set);
}

void SlotStore::renew(const ChargeSet& set) {
  const std::unique_ptr<Parts> parts = take(set);
  for (std::size_t n = 0; n < parts->used; ++n) below_.renew(parts->part[n]->set);
}

}  // namespace weir::store
