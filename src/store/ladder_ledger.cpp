// SPDX-License-Identifier: Apache-2.0
#include "store/ladder_ledger.hpp"

#include <algorithm>

namespace weir::store {
namespace {

using limit::AlgorithmKind;

enum class Form : std::uint8_t { window, rolling, bucket, none };

Form form_of(AlgorithmKind kind) {
  switch (kind) {
    case AlgorithmKind::fixed_window:
    case AlgorithmKind::sliding_counter:
      return Form::window;
    case AlgorithmKind::sliding_window:
    case AlgorithmKind::sliding_log:
      return Form::rolling;
    case AlgorithmKind::token_bucket:
    case AlgorithmKind::gcra:
    case AlgorithmKind::leaky_bucket:
      return Form::bucket;
    case AlgorithmKind::concurrency:
      break;
  }
  return Form::none;
}

std::int64_t level_at(std::int64_t level, std::int64_t limit, std::int64_t passed_ms) {
  const std::int64_t back = passed_ms > level / limit ? level : passed_ms * limit;
  return level - back;
}

}  // namespace

// Of the window, or of the quarter of one, that holds `now`.
std::int64_t LadderLedger::number_at(const Entry& entry, std::int64_t now_ms) {
  const limit::Terms& terms = entry.policy.terms;
  if (terms.calendar) {
    const auto& bounds = entry.request.bounds.at;
    const auto next = std::upper_bound(bounds.begin(), bounds.end(), now_ms);
    return next == bounds.begin() ? 0 : *(next - 1);
  }
  if (form_of(terms.algorithm) == Form::window) return (now_ms + entry.request.offset_ms) / terms.window_ms;
  return now_ms / ((terms.window_ms + 3) / 4);
}

void LadderLedger::add(Entry& entry, std::int64_t permits, std::int64_t now_ms) {
  const limit::Terms& terms = entry.policy.terms;
  if (form_of(terms.algorithm) == Form::bucket) {
    const std::int64_t left =
        level_at(entry.level, terms.limit, std::max<std::int64_t>(0, now_ms - entry.at_ms));
    entry.level = left + permits * terms.window_ms;
    entry.at_ms = now_ms;
    return;
  }
  const std::int64_t number = number_at(entry, now_ms);
  Quarter* oldest = &entry.quarters.front();
  for (Quarter& quarter : entry.quarters) {
    if (quarter.number == number) {
      quarter.permits += permits;
      return;
    }
    if (quarter.number < oldest->number) oldest = &quarter;
  }
  *oldest = {number, permits};
}

std::int64_t LadderLedger::owed(const Entry& entry, std::int64_t now_ms) {
  const limit::Terms& terms = entry.policy.terms;
  const Form form = form_of(terms.algorithm);
  if (form == Form::bucket) {
    const std::int64_t left =
        level_at(entry.level, terms.limit, std::max<std::int64_t>(0, now_ms - entry.at_ms));
    return left / terms.window_ms;
  }
  const std::int64_t newest = number_at(entry, now_ms);
  const std::int64_t oldest = form == Form::window ? newest : newest - 3;
  std::int64_t sum = 0;
  for (const Quarter& quarter : entry.quarters) {
    if (quarter.number >= oldest && quarter.number <= newest) sum += quarter.permits;
  }
  return sum;
}

void LadderLedger::note(const limit::Charge& charge, std::int64_t permits, std::int64_t now_ms) {
  if (form_of(charge.policy->terms.algorithm) == Form::none || permits <= 0) return;
  auto found = entries_.find(charge.key);
  if (found == entries_.end()) {
    if (entries_.size() >= kMost) {
      forgiven_ += static_cast<std::uint64_t>(permits);
      return;
    }
    Entry fresh;
    fresh.policy.terms = charge.policy->terms;
    fresh.at_ms = now_ms;
    found = entries_.emplace(charge.key, std::move(fresh)).first;
  }
  found->second.request = charge.request;
  add(found->second, permits, now_ms);
}

std::vector<LadderLedger::Debt> LadderLedger::take(std::int64_t now_ms,
                                                   const std::function<bool(std::string_view)>& is_back) {
  std::vector<Debt> all;
  for (auto each = entries_.begin(); each != entries_.end();) {
    auto& [key, entry] = *each;
    const std::int64_t permits = owed(entry, now_ms);
    if (permits > 0 && !is_back(key)) {
      ++each;
      continue;
    }
    if (permits > 0) all.push_back({key, std::move(entry.policy), entry.request, permits});
    entries_.erase(each++);
  }
  return all;
}

}  // namespace weir::store
