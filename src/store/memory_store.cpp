// SPDX-License-Identifier: Apache-2.0
#include "store/memory_store.hpp"

#include <memory>
#include <vector>

#include "limit/counters_at_hand.hpp"
#include "store/memory_seating.hpp"

namespace weir::store {

using limit::AlgorithmKind;
using limit::Charge;
using limit::ChargeSet;
using limit::CounterState;
using limit::Debt;
using limit::kMaxLayers;
using limit::Request;

namespace {

const limit::Algorithm& algorithm_of(const limit::Terms& terms) {
  return limit::algorithm(terms.algorithm);
}

std::int64_t more_bytes_of(const CounterState& state) {
  if (state.more == nullptr) return 0;
  return static_cast<std::int64_t>(sizeof(std::vector<std::int64_t>) +
                                   state.more->capacity() * sizeof(std::int64_t));
}

}  // namespace

// Both clocks, read once per call; the wall clock only where a calendar needs it.
struct MemoryStore::Now {
  const Clock* clock;
  std::int64_t monotonic_ms;
  mutable std::int64_t read_wall_ms = INT64_MIN;

  std::int64_t wall_ms() const noexcept {
    if (read_wall_ms == INT64_MIN) read_wall_ms = clock->wall_ms();
    return read_wall_ms;
  }
  std::int64_t for_terms(const limit::Terms& terms) const noexcept {
    return terms.calendar ? wall_ms() : monotonic_ms;
  }
  // The sketch lives on monotonic time.
  Debt to_monotonic(const limit::Terms& terms, Debt debt) const noexcept {
    if (terms.calendar) debt.until_ms += monotonic_ms - wall_ms();
    return debt;
  }
  Debt from_monotonic(const limit::Terms& terms, Debt debt) const noexcept {
    if (terms.calendar) debt.until_ms += wall_ms() - monotonic_ms;
    return debt;
  }
};

class MemoryStore::Eviction final : public Evictor {
 public:
  Eviction(MemoryStore& store, const Now& now) : store_(store), now_(now) {}

  Worth worth(const Slot& slot) override {
    if (owed(slot).used == 0) return Worth::nothing;
    const limit::Terms& terms = store_.terms_.at(slot.terms());
    return terms.algorithm == AlgorithmKind::concurrency ? Worth::keep : Worth::debt;
  }

  void note_down(const Slot& slot) override {
    const Debt debt = owed(slot);
    if (debt.used > 0) {
      const Hash128 key{slot.high.load(std::memory_order_relaxed), slot.low.load(std::memory_order_relaxed)};
      const limit::Terms& terms = store_.terms_.at(slot.terms());
      store_.sketch_.add(key, now_.to_monotonic(terms, debt), now_.monotonic_ms);
    }
    store_.more_bytes_.fetch_sub(more_bytes_of(slot.state), std::memory_order_relaxed);
  }

 private:
  Debt owed(const Slot& slot) const {
    if (slot.terms() == TermsPool::kNone) return {};
    const limit::Terms& terms = store_.terms_.at(slot.terms());
    Request request;
    request.now_ms = now_.for_terms(terms);
    const Debt debt = algorithm_of(terms).owed(slot.state, terms, request);
    return debt.until_ms > request.now_ms ? debt : Debt{};
  }

  MemoryStore& store_;
  const Now& now_;
};

MemoryStore::MemoryStore(std::size_t max_keys, const Clock& clock)
    : clock_(clock), seed_(process_seed()), table_(max_keys), sketch_(max_keys) {}

MemoryStore::~MemoryStore() = default;

MemoryStore::Now MemoryStore::now() const noexcept {
  return {&clock_, clock_.monotonic_ms()};
}

Request MemoryStore::at(const Charge& charge, const Now& now) const noexcept {
  Request request = charge.request;
  request.now_ms = now.for_terms(charge.policy->terms);
  return request;
}

// A new counter begins with what the sketch knows of its key.
void MemoryStore::open(const Charge& charge, const Hash128& key, const Now& now, CounterState& state) const {
  const limit::Terms& terms = charge.policy->terms;
  const Debt debt = now.from_monotonic(terms, sketch_.of(key, now.monotonic_ms));
  const Request request = at(charge, now);
  if (debt.used > 0 && debt.until_ms > request.now_ms)
    algorithm_of(terms).restore(state, terms, request, debt);
}

void MemoryStore::use_terms(Slot& slot, const limit::Terms& terms) {
  const TermsPool::Number number = slot.terms();
  if (number != TermsPool::kNone && terms_.at(number) == terms) return;
  const TermsPool::Number mine = terms_.number_of(terms);
  if (mine != TermsPool::kNone) slot.set_terms(mine);
}

// Finds or makes the key's slot and leaves it pinned and locked.
void MemoryStore::make_seat(const Charge& charge, const Now& now, Seat& seat) {
  Eviction eviction(*this, now);
  const CounterTable::Place place = table_.find_or_make(seat.key, eviction);
  seat.slot = place.slot;
  if (place.slot == nullptr) return;
  seat.pinned = place.pinned;
  if (!place.fresh) return;
  place.slot->set_terms(TermsPool::kNone);
  use_terms(*place.slot, charge.policy->terms);
  CounterTable::touch(*place.slot, CounterTable::tick(now.monotonic_ms));
  open(charge, seat.key, now, place.slot->state);
  more_bytes_.fetch_add(more_bytes_of(place.slot->state), std::memory_order_relaxed);
}

namespace {

// The longest key is the most particular: its slot is the one that is probably not in the processor's cache.
std::size_t most_particular(const ChargeSet& set) {
  std::size_t longest = 0;
  for (std::size_t n = 1; n < set.size; ++n) {
    if (set.charge[n].key.size() > set.charge[longest].key.size()) longest = n;
  }
  return longest;
}

}  // namespace

// After this every seat has a state, and every slot is locked.
void MemoryStore::take_seats(ChargeSet& set, Seating& seating) {
  seating.seat.resize(set.size);
  const std::size_t first = most_particular(set);
  for (std::size_t n = 0; n < set.size; ++n) {
    const std::size_t at = n == 0 ? first : n <= first ? n - 1 : n;
    seating.seat[at].key = stable_hash128(set.charge[at].key, seed_);
    table_.prefetch(seating.seat[at].key);
  }
  if (!take_at_once(seating, first)) take_by_turns(set, seating);
  for (std::size_t n = 0; n < set.size; ++n) {
    Seat& seat = seating.seat[n];
    if (seat.slot == nullptr) continue;
    use_terms(*seat.slot, set.charge[n].policy->terms);
    seat.state = &seat.slot->state;
    seat.bytes_before = more_bytes_of(*seat.state);
  }
}

// Slots that are there are locked in any order: whoever would have to wait while holding one lets go of all.
// The one that is still on its way from memory comes last, for a lock lets nothing behind it begin.
bool MemoryStore::take_at_once(Seating& seating, std::size_t last) {
  const auto take = [&](Seat& seat) {
    seat.slot = table_.guess(seat.key);
    return seat.slot != nullptr && seating.lock_unless_stuck(*seat.slot) && seat.slot->holds(seat.key);
  };
  for (std::size_t n = 0; n < seating.seat.size(); ++n) {
    if (n != last && !take(seating.seat[n])) return false;
  }
  return seating.seat.empty() || take(seating.seat[last]);
}

void MemoryStore::take_by_turns(ChargeSet& set, Seating& seating) {
  seating.unlock();
  for (Seat& seat : seating.seat) seat.slot = table_.guess(seat.key);
  do {
    seating.unlock();
    for (std::size_t n = 0; n < set.size; ++n) {
      Seat& seat = seating.seat[n];
      if (seat.slot != nullptr || seat.state != nullptr) continue;
      const Now now = this->now();
      make_seat(set.charge[n], now, seat);
      if (seat.slot != nullptr) {
        seat.slot->unlock();
        continue;
      }
      seat.state = seating.without_slot.emplace_back(std::make_unique<CounterState>()).get();
      open(set.charge[n], seat.key, now, *seat.state);
    }
    seating.lock();
  } while (!seating.all_hold());
}

void MemoryStore::leave_seats(ChargeSet& set, const Now& now, Seating& seating) {
  const std::uint32_t tick = CounterTable::tick(now.monotonic_ms);
  std::int64_t more = 0;
  for (std::size_t n = 0; n < set.size; ++n) {
    const Seat& seat = seating.seat[n];
    if (seat.slot == nullptr) {
      const limit::Terms& terms = set.charge[n].policy->terms;
      const Debt debt = algorithm_of(terms).owed(*seat.state, terms, set.charge[n].request);
      sketch_.add(seat.key, now.to_monotonic(terms, debt), now.monotonic_ms);
      continue;
    }
    CounterTable::touch(*seat.slot, tick);
    more += more_bytes_of(*seat.state) - seat.bytes_before;
    if (seat.pinned) seat.slot->unpin();
  }
  seating.unlock();
  if (more != 0) more_bytes_.fetch_add(more, std::memory_order_relaxed);
}

bool MemoryStore::decide_now(ChargeSet& set) {
  Seating seating;
  take_seats(set, seating);
  // Read under the locks: a moment from before another worker's turn would look like a clock that stepped
  // back, and what a bucket refilled in between would be refilled twice.
  const Now now = this->now();
  set.store_now_ms = now.monotonic_ms;
  for (Charge& charge : set.charges()) charge.request.now_ms = now.for_terms(charge.policy->terms);
  std::array<CounterState*, kMaxLayers> states;
  for (std::size_t n = 0; n < set.size; ++n) states[n] = seating.seat[n].state;
  limit::decide_counters(set, {states.data(), set.size});
  leave_seats(set, now, seating);
  return true;
}

boost::asio::awaitable<void> MemoryStore::decide(ChargeSet& set) {
  decide_now(set);
  co_return;
}

boost::asio::awaitable<void> MemoryStore::peek(ChargeSet& set) {
  look(set);
  co_return;
}

// Layer by layer: what nobody charges needs no common moment.
void MemoryStore::look(ChargeSet& set) {
  const Now now = this->now();
  set.store_now_ms = now.monotonic_ms;
  for (Charge& charge : set.charges()) {
    charge.request = at(charge, now);
    charge.charged = false;
    const limit::Terms& terms = charge.policy->terms;
    const Hash128 key = stable_hash128(charge.key, seed_);
    Slot* const slot = table_.find(key);
    if (slot != nullptr) {
      slot->lock();
      const bool held = slot->holds(key);
      if (held) charge.verdict = algorithm_of(terms).judge(slot->state, terms, charge.request).verdict;
      slot->unlock();
      if (held) continue;
    }
    CounterState fresh;
    open(charge, key, now, fresh);
    charge.verdict = algorithm_of(terms).judge(fresh, terms, charge.request).verdict;
  }
}

template <class Change>
void MemoryStore::change(const Charge& charge, const Change& apply) {
  Seat seat{stable_hash128(charge.key, seed_)};
  make_seat(charge, this->now(), seat);
  const Now now = this->now();  // under the slot's lock, as in decide_now
  const Request request = at(charge, now);
  const limit::Terms& terms = charge.policy->terms;
  if (seat.slot == nullptr) {
    CounterState state;
    open(charge, seat.key, now, state);
    apply(state, terms, request);
    sketch_.add(seat.key, now.to_monotonic(terms, algorithm_of(terms).owed(state, terms, request)),
                now.monotonic_ms);
    return;
  }
  use_terms(*seat.slot, terms);
  const std::int64_t before = more_bytes_of(seat.slot->state);
  apply(seat.slot->state, terms, request);
  const std::int64_t more = more_bytes_of(seat.slot->state) - before;
  if (seat.pinned) seat.slot->unpin();
  seat.slot->unlock();
  if (more != 0) more_bytes_.fetch_add(more, std::memory_order_relaxed);
}

void MemoryStore::settle(const ChargeSet& set, std::int64_t delta) {
  for (const Charge& charge : set.charges()) {
    if (!charge.charged || charge.is_slot()) continue;
    change(charge, [&](CounterState& state, const limit::Terms& terms, const Request& request) {
      algorithm_of(terms).settle(state, terms, request, charge.request.now_ms, delta);
    });
  }
}

void MemoryStore::release(const ChargeSet& set) {
  for (const Charge& charge : set.charges()) {
    if (!charge.charged || !charge.is_slot()) continue;
    change(charge, limit::algorithm(AlgorithmKind::concurrency).release);
  }
}

void MemoryStore::renew(const ChargeSet& set) {
  for (const Charge& charge : set.charges()) {
    if (!charge.charged || !charge.is_slot()) continue;
    change(charge, limit::algorithm(AlgorithmKind::concurrency).renew);
  }
}

std::size_t MemoryStore::forget(std::string_view key) {
  const Hash128 hash = stable_hash128(key, seed_);
  Slot* const slot = table_.find(hash);
  if (slot == nullptr) return 0;
  slot->lock();
  const bool held = slot->holds(hash);
  if (held) {
    more_bytes_.fetch_sub(more_bytes_of(slot->state), std::memory_order_relaxed);
    slot->state = {};
  }
  slot->unlock();
  return held ? 1 : 0;
}

std::optional<Standing> MemoryStore::standing(std::string_view key) {
  const Hash128 hash = stable_hash128(key, seed_);
  Slot* const slot = table_.find(hash);
  if (slot == nullptr) return std::nullopt;
  const Now now = this->now();
  std::optional<Standing> result;
  slot->lock();
  if (slot->holds(hash) && slot->terms() != TermsPool::kNone) {
    const limit::Terms& terms = terms_.at(slot->terms());
    Request request;
    request.now_ms = now.for_terms(terms);
    const Debt debt = algorithm_of(terms).owed(slot->state, terms, request);
    result = Standing{terms, debt.used, debt.used > 0 ? debt.until_ms - request.now_ms : 0};
  }
  slot->unlock();
  return result;
}

std::size_t MemoryStore::memory_bytes() const noexcept {
  return table_.memory_bytes() + sketch_.memory_bytes() +
         static_cast<std::size_t>(std::max<std::int64_t>(0, more_bytes_.load(std::memory_order_relaxed)));
}

}  // namespace weir::store
