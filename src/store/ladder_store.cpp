// SPDX-License-Identifier: Apache-2.0
#include "store/ladder_store.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/hash.hpp"
#include "redis/error.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::FailureMode;

namespace {

constexpr std::string_view kMark = "local:";
constexpr std::int64_t kRetryWhenShutMs = 1000;

std::int64_t share(std::int64_t whole, std::size_t instances, std::int64_t cost) {
  const auto parts = static_cast<std::int64_t>(std::max<std::size_t>(instances, 1));
  const std::int64_t part = (whole + parts - 1) / parts;
  return std::max({std::int64_t{1}, part, std::min(cost, whole)});
}

void add(std::atomic<std::uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// A set of its own for the memory store: scaled policies, marked keys, and where each layer came from.
class LadderStore::LocalSet {
 public:
  ChargeSet set;

  void add(const Charge& charge, std::size_t origin, std::size_t instances, std::int64_t cost) {
    limit::Policy& policy = policies_[set.size];
    policy.terms = charge.policy->terms;
    policy.terms.limit = share(policy.terms.limit, instances, charge.request.cost);
    policy.terms.burst = share(policy.terms.burst, instances, charge.request.cost);
    policy.enforcement = charge.enforcement;
    Charge& copy = set.charge[set.size];
    copy.policy = &policy;
    copy.key = mark(charge.key);
    copy.request = charge.request;
    copy.request.cost = cost;
    copy.enforcement = charge.enforcement;
    copy.charged = charge.charged;
    origins_[set.size++] = origin;
  }
  std::size_t origin(std::size_t layer) const { return origins_[layer]; }

 private:
  std::string_view mark(std::string_view key) {
    char* const begin = keys_.data() + used_;
    std::memcpy(begin, kMark.data(), kMark.size());
    std::memcpy(begin + kMark.size(), key.data(), key.size());
    used_ += kMark.size() + key.size();
    return {begin, kMark.size() + key.size()};
  }

  std::array<limit::Policy, limit::kMaxLayers> policies_;
  std::array<std::size_t, limit::kMaxLayers> origins_;
  std::array<char, limit::kKeyBytes + limit::kMaxLayers * kMark.size()> keys_;
  std::size_t used_ = 0;
};

LadderStore::LadderStore(Options options, limit::CounterStore& shared, limit::CounterStore& memory,
                                 const Clock& clock)
    : options_(options),
      shared_(shared),
      memory_(memory),
      clock_(clock),
      breaker_(options.breaker, process_seed() ^ reinterpret_cast<std::uintptr_t>(this)) {}

LadderStore::~LadderStore() = default;

bool LadderStore::decide_now(ChargeSet& set) {
  if (shared_.decide_now(set)) return true;
  if (!breaker_.refuses(clock_.monotonic_ms())) return false;
  add(stats_.spared);
  answer_here(set);
  return true;
}

boost::asio::awaitable<void> LadderStore::decide(ChargeSet& set) {
  const auto pass = breaker_.admit(clock_.monotonic_ms());
  if (pass == Breaker::Pass::refused) {
    add(stats_.spared);
    answer_here(set);
    co_return;
  }
  co_await shared_.decide(set);
  note(pass, set.store_error);
  if (set.store_error) answer_here(set);
}

boost::asio::awaitable<void> LadderStore::peek(ChargeSet& set) {
  const auto pass = breaker_.admit(clock_.monotonic_ms());
  if (pass != Breaker::Pass::refused) {
    co_await shared_.peek(set);
    note(pass, set.store_error);
    if (!set.store_error) co_return;
  }
  refresh_health();
  const auto local = std::make_unique<LocalSet>();
  gather(set, false, *local);
  if (local->set.size > 0) co_await memory_.peek(local->set);
  apply(set, *local);
}

void LadderStore::note(Breaker::Pass pass, const error_code& error) {
  const std::int64_t now_ms = clock_.monotonic_ms();
  if (error) {
    add(stats_.failures);
    stats_.last_error.store(error.value(), std::memory_order_relaxed);
  }
  if (redis::is_outage(error)) {
    breaker_.failed(pass, now_ms);
    if (!failing_) failing_since_ms_ = now_ms;
    failing_ = true;
    stats_.failing_since_ms.store(failing_since_ms_, std::memory_order_relaxed);
  } else {
    breaker_.succeeded(pass, now_ms);
    failing_ = false;
    if (stats_.health.load(std::memory_order_relaxed) != StoreHealth::healthy) {
      stats_.health.store(StoreHealth::healthy, std::memory_order_relaxed);
      stats_.failing_since_ms.store(0, std::memory_order_relaxed);
    }
  }
  stats_.breaker_open.store(breaker_.state() != Breaker::State::closed, std::memory_order_relaxed);
}

void LadderStore::refresh_health() {
  if (!failing_) return;
  const bool is_long = clock_.monotonic_ms() - failing_since_ms_ >= options_.long_after.count();
  stats_.health.store(is_long ? StoreHealth::long_failure : StoreHealth::brief, std::memory_order_relaxed);
}

// The whole answer without the shared store. Never waits.
void LadderStore::answer_here(ChargeSet& set) {
  refresh_health();
  LocalSet local;
  gather(set, denies(set), local);
  if (local.set.size > 0) memory_.decide_now(local.set);
  apply(set, local);
}

FailureMode LadderStore::mode_of(const Charge& charge) const {
  const bool is_long = stats_.health.load(std::memory_order_relaxed) == StoreHealth::long_failure;
  return is_long ? charge.policy->on_long_failure : charge.policy->on_brief_failure;
}

bool LadderStore::denies(const ChargeSet& set) const {
  return std::ranges::any_of(set.charges(), [this](const Charge& charge) {
    return charge.enforcement == limit::Enforcement::enforce && mode_of(charge) == FailureMode::deny;
  });
}

void LadderStore::gather(const ChargeSet& set, bool denied, LocalSet& local) const {
  local.set.accounting = set.accounting;
  for (std::size_t n = 0; n < set.size; ++n) {
    const Charge& charge = set.charge[n];
    if (mode_of(charge) != FailureMode::local) continue;
    local.add(charge, n, options_.instances, denied ? 0 : charge.request.cost);
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

void LadderStore::gather_charged(const ChargeSet& set, LocalSet& local) const {
  local.set.store_now_ms = set.store_now_ms;
  for (std::size_t n = 0; n < set.size; ++n) {
    const Charge& charge = set.charge[n];
    if (charge.answered != Answered::local || !charge.charged) continue;
    local.set.store_now_ms = charge.request.now_ms;
    local.add(charge, n, options_.instances, charge.request.cost);
  }
}

void LadderStore::settle(const ChargeSet& set, std::int64_t delta) {
  LocalSet local;
  gather_charged(set, local);
  if (local.set.size > 0) return memory_.settle(local.set, delta);
  shared_.settle(set, delta);
}

void LadderStore::release(const ChargeSet& set) {
  LocalSet local;
  gather_charged(set, local);
  if (local.set.size > 0) return memory_.release(local.set);
  shared_.release(set);
}

void LadderStore::renew(const ChargeSet& set) {
  LocalSet local;
  gather_charged(set, local);
  if (local.set.size > 0) return memory_.renew(local.set);
  shared_.renew(set);
}

}  // namespace weir::store
