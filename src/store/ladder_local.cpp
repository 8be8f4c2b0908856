// SPDX-License-Identifier: Apache-2.0
// A LadderStore's answers without the shared store, by each layer's failure mode. Nothing here waits.
#include <algorithm>

#include "store/ladder_store.hpp"

namespace weir::store {

using limit::Answered;
using limit::Charge;
using limit::ChargeSet;
using limit::FailureMode;

namespace {

constexpr std::int64_t kRetryWhenShutMs = 1000;

}  // namespace

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
    if (mode == FailureMode::allow) count(stats_.failed_open);
    if (mode != FailureMode::deny) continue;
    charge.answered = Answered::failed_shut;
    charge.verdict.within_limit = false;
    charge.verdict.retry_after_ms = kRetryWhenShutMs;
    count(stats_.failed_shut);
  }
  for (std::size_t n = 0; n < local.set.size; ++n) {
    const Charge& counted = local.set.charge[n];
    Charge& charge = set.charge[local.origin(n)];
    charge.answered = Answered::local;
    charge.verdict = counted.verdict;
    charge.verdict.limit = charge.policy->terms.limit;
    charge.charged = counted.charged && counted.request.cost > 0;
    charge.request.now_ms = counted.request.now_ms;
    count(stats_.local);
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

}  // namespace weir::store
