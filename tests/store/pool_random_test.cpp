// SPDX-License-Identifier: Apache-2.0
// Two regions of gateways under random faults: fetchers die or are late, a region forgets, clocks step. Never
// more passes than the limit, and what nobody used comes back.
#include <gtest/gtest.h>

#include <random>

#include "store/pool_fleet.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Policy;

constexpr std::string_view kKey = "w2:n:{c=c}:caller:x:5000";
constexpr std::int64_t kWindowMs = 5000;
constexpr std::int64_t kLimit = 100;

// The most that passed in any `window_ms`.
std::int64_t most_in(const std::vector<std::int64_t>& at_ms, std::int64_t window_ms) {
  std::int64_t most = 0;
  std::size_t first = 0;
  for (std::size_t n = 0; n < at_ms.size(); ++n) {
    while (at_ms[n] - at_ms[first] >= window_ms) ++first;
    most = std::max(most, static_cast<std::int64_t>(n - first + 1));
  }
  return most;
}

// By how much a bucket was overdrawn: passed in a stretch, less the burst and what refilled in it.
double overdrawn(const std::vector<std::int64_t>& at_ms) {
  double level = static_cast<double>(kLimit);
  double lowest = level;
  for (std::size_t n = 0; n < at_ms.size(); ++n) {
    const double passed_ms = n == 0 ? 0 : static_cast<double>(at_ms[n] - at_ms[n - 1]);
    level = std::min<double>(kLimit, level + passed_ms * kLimit / kWindowMs) - 1;
    lowest = std::min(lowest, level);
  }
  return -lowest;
}

void expect_never_over(AlgorithmKind kind, const std::vector<std::int64_t>& at_ms) {
  switch (kind) {
    case AlgorithmKind::token_bucket:
    case AlgorithmKind::gcra:
      EXPECT_LE(overdrawn(at_ms), 1);
      break;
    case AlgorithmKind::sliding_window:
      EXPECT_LE(most_in(at_ms, kWindowMs), kLimit);
      break;
    default: {  // windows that begin at the epoch's multiples
      std::vector<std::int64_t> count(64);
      for (const std::int64_t ms : at_ms)
        ++count[static_cast<std::size_t>((ms / kWindowMs) - (at_ms.front() / kWindowMs))];
      for (const std::int64_t each : count) EXPECT_LE(each, kLimit);
    }
  }
}

class PoolFaults : public testing::TestWithParam<AlgorithmKind> {
 protected:
  static constexpr std::size_t kGateways = 4;

  void request() {
    const std::size_t gateway = any(kGateways);
    if (fleet_.wire(gateway).slow) {
      begun_.push_back({&fleet_.begin(gateway, policy_, kKey), fleet_.clock().monotonic_ms()});
      note_answers();
      return;
    }
    if (fleet_.request(gateway, policy_, kKey)) passed_.push_back(fleet_.clock().monotonic_ms());
  }
  void fault() {
    const std::size_t gateway = any(kGateways);
    switch (any(12)) {
      case 0:
      case 1:
      case 2:
        fleet_.wire(gateway).slow = true;
        break;
      case 3:
      case 4:
      case 5:
        answer_late(gateway);
        break;
      case 6:
        fleet_.kill(gateway);
        break;
      case 7:
        fleet_.flush(any(2));
        break;
      case 8:
        fleet_.step_region_clock(any(2), 3'600'000);
        break;
      case 9:
        fleet_.step_region_clock(any(2), -3'600'000);
        break;
      default:
        break;
    }
  }
  void answer_late(std::size_t gateway) {
    fleet_.wire(gateway).hurry();
    fleet_.settle_down();
    note_answers();
  }
  // What the parent has let through counts when it did, however late its answer; what the pool has, now.
  void note_answers() {
    std::erase_if(begun_, [this](const Begun& each) {
      if (!limit::conclude(*each.set).allowed()) return false;
      const std::int64_t charged_ms = each.set->charge[0].request.now_ms;
      passed_.push_back(charged_ms >= each.at_ms ? charged_ms : fleet_.clock().monotonic_ms());
      return true;
    });
  }
  std::size_t any(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }

  std::mt19937 random_{20'26};
  const Policy policy_ = [] {
    Policy policy = policy_of(GetParam(), kLimit, kWindowMs);
    policy.hashed_offset = false;
    policy.scope = limit::Scope::global;
    return policy;
  }();
  PoolFleet fleet_{{.regions = 2, .gateways = 2, .ttl = std::chrono::milliseconds(1500), .permits = 40}};
  struct Begun {
    const limit::ChargeSet* set;
    std::int64_t at_ms;
  };
  std::vector<Begun> begun_;
  std::vector<std::int64_t> passed_;
};

TEST_P(PoolFaults, NeverMoreThanTheLimit) {
  std::size_t gap_ms = 40;
  for (int n = 0; n < 2000; ++n) {
    request();
    if (any(30) == 0) fault();
    // Much more than the limit, and less: only then there are permits left when a window ends.
    if (n % 50 == 0) gap_ms = any(2) == 0 ? 20 : 400;
    if (any(3) == 0) fleet_.advance(1 + static_cast<std::int64_t>(any(gap_ms)));
    if (any(400) == 0) fleet_.advance(3000);
  }
  EXPECT_GT(passed_.size(), 500U);
  std::ranges::sort(passed_);
  expect_never_over(GetParam(), passed_);
}

TEST_P(PoolFaults, WithoutFaultsAllIsUsedAndAllComesBack) {
  const std::int64_t began_ms = fleet_.clock().monotonic_ms();
  for (int n = 0; n < 2000; ++n) {
    request();
    if (any(2) == 0) fleet_.advance(1 + static_cast<std::int64_t>(any(20)));
  }
  expect_never_over(GetParam(), passed_);
  const auto took_ms = static_cast<double>(fleet_.clock().monotonic_ms() - began_ms);
  EXPECT_GT(static_cast<double>(passed_.size()), kLimit * std::floor(took_ms / kWindowMs) * 0.85);
  // Whoever waits gets all of it again.
  fleet_.advance(2000);
  fleet_.advance(1000);
  for (int n = 0; n < 5; ++n) fleet_.advance(10'000);
  EXPECT_EQ(fleet_.used(policy_, kKey), 0);
  EXPECT_TRUE(fleet_.request(0, policy_, kKey, kLimit));
}

std::string name_of(const testing::TestParamInfo<AlgorithmKind>& info) {
  return std::string(limit::name_of(info.param));
}
INSTANTIATE_TEST_SUITE_P(Algorithms, PoolFaults, testing::ValuesIn(kLeased), name_of);

}  // namespace
}  // namespace weir::store
