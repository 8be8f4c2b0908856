// SPDX-License-Identifier: Apache-2.0
// A ladder over a shared store that fails as told, on a clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>

#include "store/fake_clock.hpp"
#include "store/ladder_store.hpp"
#include "store/memory_store.hpp"
#include "store/redis_world.hpp"

namespace weir::store {

// A shared store that fails as told; otherwise every layer passes.
class MoodyStore final : public limit::CounterStore {
 public:
  explicit MoodyStore(const Clock& clock) : clock_(clock) {}

  error_code mood;
  int calls = 0;
  int settled = 0;
  std::int64_t handed_in = 0;
  int released = 0;

  bool decide_now(limit::ChargeSet&) override { return false; }
  boost::asio::awaitable<void> decide(limit::ChargeSet& set) override {
    ++calls;
    set.store_error = mood;
    set.store_now_ms = clock_.monotonic_ms();
    for (limit::Charge& charge : set.charges()) {
      charge.charged = true;
      charge.answered = limit::Answered::store;
      charge.verdict = {.within_limit = true, .limit = 100, .remaining = 77};
    }
    co_return;
  }
  boost::asio::awaitable<void> peek(limit::ChargeSet& set) override { return decide(set); }
  void settle(const limit::ChargeSet&, std::int64_t delta) override {
    ++settled;
    handed_in += delta;
  }
  void release(const limit::ChargeSet&) override { ++released; }
  void renew(const limit::ChargeSet&) override {}

 private:
  const Clock& clock_;
};

class LadderTest : public ::testing::Test {
 protected:
  static limit::Policy policy(limit::AlgorithmKind kind, std::int64_t limit, limit::FailureMode brief,
                              limit::FailureMode longer) {
    limit::Policy made = policy_of(kind, limit);
    made.on_brief_failure = brief;
    made.on_long_failure = longer;
    return made;
  }
  static limit::Policy local(std::int64_t limit,
                             limit::AlgorithmKind kind = limit::AlgorithmKind::token_bucket) {
    return policy(kind, limit, limit::FailureMode::local, limit::FailureMode::local);
  }
  LadderStore& make(std::size_t instances) {
    fleet_.emplace(1, instances);
    LadderStore::Options options;
    options.hand_in_within = std::chrono::milliseconds(0);
    return store_.emplace(options, LadderStore::Parts{shared_, memory_, clock_, *fleet_, fleet_->uses(0),
                                                      loop_.get_executor()});
  }
  void decide(limit::ChargeSet& set) {
    if (!store_->decide_now(set)) test::await(loop_, store_->decide(set));
    ASSERT_FALSE(set.store_error) << "nobody above may see it";
    run_background();
  }
  void run_background() {
    for (int n = 0; n < 3; ++n) {
      loop_.restart();
      loop_.run_for(std::chrono::milliseconds(4));
    }
  }
  void break_store(redis::ErrorKind kind = redis::ErrorKind::timeout) {
    shared_.mood = redis::make_error_code(kind);
  }

  FakeClock clock_;
  boost::asio::io_context loop_;
  MoodyStore shared_{clock_};
  MemoryStore memory_{1000, clock_};
  std::optional<FleetShare> fleet_;
  std::optional<LadderStore> store_;
};

}  // namespace weir::store
