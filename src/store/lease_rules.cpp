// SPDX-License-Identifier: Apache-2.0
#include "store/lease_rules.hpp"

#include <algorithm>
#include <cmath>

namespace weir::store {

using limit::AlgorithmKind;
using limit::Terms;

namespace {

constexpr double kHotRate = 8;   // permits per second; a lease of a second then holds that many
constexpr double kWarmRate = 3;  // the same for `leased`
constexpr double kShareOfRest = 0.8;
constexpr double kNearTheEnd = 0.35;    // of what is expected until the end, when little is left
constexpr double kNearTheGround = 0.8;  // buckets, which have no end: of what is expected in one life
constexpr std::int64_t kSmallLease = 24;
constexpr std::int64_t kShortestMs = 100;
constexpr std::int64_t kFewest = 3;  // a smaller lease saves nothing

bool is_bucket(const Terms& terms) {
  return terms.algorithm == AlgorithmKind::token_bucket || terms.algorithm == AlgorithmKind::gcra;
}

std::int64_t up(double value) {
  return static_cast<std::int64_t>(std::ceil(value));
}

// What a window or a bucket is refilled within.
double refill_per_ms(const Terms& terms) {
  return static_cast<double>(terms.limit) / static_cast<double>(terms.window_ms);
}

}  // namespace

bool can_lease(const Terms& terms) noexcept {
  return is_bucket(terms) || terms.algorithm == AlgorithmKind::fixed_window ||
         terms.algorithm == AlgorithmKind::sliding_window ||
         terms.algorithm == AlgorithmKind::sliding_counter;
}

std::int64_t lease_life_ms(const Terms& terms, const LeaseOptions& options) noexcept {
  const std::int64_t longest = options.max_age.count();
  if (!is_bucket(terms)) return longest;
  const auto quarter = static_cast<std::int64_t>(static_cast<double>(terms.burst) / refill_per_ms(terms) / 4);
  return std::clamp<std::int64_t>(quarter, std::min<std::int64_t>(50, longest), longest);
}

std::int64_t tag_ends_in_ms(const limit::Charge& charged) noexcept {
  const Terms& terms = charged.policy->terms;
  switch (terms.algorithm) {
    case AlgorithmKind::fixed_window:
      return charged.verdict.reset_ms;
    case AlgorithmKind::sliding_counter:
      return charged.verdict.reset_ms - terms.window_ms;
    case AlgorithmKind::sliding_window: {
      const std::int64_t cell_ms = (terms.window_ms + terms.cells - 1) / terms.cells;
      return cell_ms - charged.request.now_ms % cell_ms;
    }
    default:
      return kForever;
  }
}

bool is_hot(const LeaseOptions& options, double rate) noexcept {
  return options.counting != Counting::exact && rate >= hot_rate(options);
}

double hot_rate(const LeaseOptions& options) noexcept {
  return options.counting == Counting::leased ? kWarmRate : kHotRate;
}

limit::Lease lease_to_ask(const Terms& terms, const LeaseOptions& options, const Demand& demand) noexcept {
  limit::Lease lease;
  if (!can_lease(terms) || !is_hot(options, demand.rate)) return lease;
  const double per_ms = demand.rate / 1000;
  const auto life = static_cast<double>(lease_life_ms(terms, options));
  const double left = demand.left_ms == kForever ? life : static_cast<double>(demand.left_ms);
  const double serves = static_cast<double>(options.requests) / per_ms;
  const double horizon = std::min({std::max<double>(kShortestMs, serves), life, left});
  std::int64_t more = up(per_ms * horizon);
  const double little = is_bucket(terms) ? kNearTheGround : kNearTheEnd;
  std::int64_t least = std::min(kSmallLease, up(little * per_ms * left));
  // What is lent of a bucket comes back as it refills; what is lent of a window is missing in it.
  if (is_bucket(terms)) {
    more = std::min(more, limit::capacity_of(terms) / 4);
  } else if (terms.algorithm == AlgorithmKind::sliding_window) {
    more = std::min(more, limit::capacity_of(terms) * options.outstanding_permille / 1000);
  }
  if (more < kFewest) return lease;
  least = std::min(least, more);
  const double share = demand.fleet_rate > 0 ? demand.rate / std::max(demand.rate, demand.fleet_rate) : 0.25;
  lease.more = more;
  lease.least = least;
  lease.permille = std::max<std::int64_t>(10, up(1000 * kShareOfRest * share));
  lease.life_ms = static_cast<std::int64_t>(life);
  return lease;
}

std::int64_t gathering_ms(const Terms& terms, double rate, std::int64_t left_ms) noexcept {
  constexpr double kShortest = 20;
  constexpr double kOfRest = 0.5;  // of a window: what is collected then can still be used before it ends
  if (!is_bucket(terms) && terms.algorithm != AlgorithmKind::sliding_counter) return 0;
  // What gathers in a bucket is not lost; a window's is, unless it is used before its end.
  const double requests = is_bucket(terms) ? 30 : 25;
  const double longest = is_bucket(terms) ? 950 : 800;
  const double quarter = static_cast<double>(limit::capacity_of(terms)) / refill_per_ms(terms) / 4;
  const double wait = std::min({std::max(kShortest, requests * 1000 / rate), longest, quarter});
  if (left_ms == kForever) return static_cast<std::int64_t>(wait);
  return static_cast<std::int64_t>(
      std::min(wait, std::max(kShortest, kOfRest * static_cast<double>(left_ms))));
}

std::int64_t credit(const Terms& terms, const LeaseOptions& options, double rate,
                    std::size_t instances) noexcept {
  constexpr double kSeconds = 0.020;
  if (instances == 0 || options.debt_permille == 0 || !can_lease(terms)) return 0;
  const double part = static_cast<double>(terms.limit) * static_cast<double>(options.debt_permille) / 1000 /
                      static_cast<double>(instances);
  return static_cast<std::int64_t>(std::min(part, 1 + rate * kSeconds));
}

std::int64_t low_mark(const LeaseOptions& options, double rate, std::int64_t last_granted) noexcept {
  return std::min(up(rate * static_cast<double>(options.ahead.count()) / 1000), last_granted / 4);
}

}  // namespace weir::store
