// SPDX-License-Identifier: Apache-2.0
#include "weir/limit/decision.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace weir::limit {
namespace {

// An answered set, written down layer by layer.
class Answers {
 public:
  Charge& add(bool within, std::int64_t remaining, std::int64_t retry = 0) {
    Policy& policy = policies_.emplace_back();
    policy.terms = {AlgorithmKind::fixed_window, 100, 60'000, 100, 0, 0, false};
    Charge& charge = set_.charge[set_.size++];
    charge.policy = &policy;
    charge.verdict = {within, 100, remaining, retry, 0, 0};
    return charge;
  }
  Policy& policy(std::size_t layer) { return policies_[layer]; }
  Decision conclude() const { return limit::conclude(set_); }

 private:
  ChargeSet set_;
  std::deque<Policy> policies_;
};

TEST(Decision, an_empty_chain_allows) {
  const Decision decision = Answers().conclude();
  EXPECT_TRUE(decision.allowed());
  EXPECT_EQ(decision.tightest, Decision::kNoLayer);
  EXPECT_EQ(decision.final_hit, Decision::kNoLayer);
}

TEST(Decision, the_first_refusing_layer_is_the_hit_and_the_longest_wait_counts) {
  Answers answers;
  answers.add(true, 50);
  answers.add(false, 0, 2000);
  answers.add(false, 0, 9000);
  const Decision decision = answers.conclude();
  EXPECT_EQ(decision.outcome, Outcome::over_limit);
  EXPECT_EQ(decision.final_hit, 1);
  EXPECT_EQ(decision.hits, 0b110U);
  EXPECT_EQ(decision.retry_after_ms, 9000);
}

TEST(Decision, a_cost_above_a_capacity_never_passes) {
  for (const bool never_first : {true, false}) {
    Answers answers;
    answers.add(false, 0, never_first ? kNever : 9000);
    answers.add(false, 0, never_first ? 9000 : kNever);
    const Decision decision = answers.conclude();
    EXPECT_EQ(decision.outcome, Outcome::cost_too_large);
    EXPECT_EQ(decision.retry_after_ms, kNever);
  }
}

TEST(Decision, shadow_layers_are_reported_and_never_refuse) {
  Answers answers;
  answers.add(false, 0, kNever).enforcement = Enforcement::shadow;
  answers.add(true, 70);
  const Decision decision = answers.conclude();
  EXPECT_TRUE(decision.allowed());
  EXPECT_EQ(decision.shadow_hits, 0b01U);
  EXPECT_EQ(decision.hits, 0U);
  EXPECT_EQ(decision.retry_after_ms, 0);
  EXPECT_EQ(decision.tightest, 1);
}

TEST(Decision, the_tightest_layer_has_the_smallest_share_left) {
  Answers answers;
  answers.add(true, 40);
  answers.add(true, 90);
  answers.policy(1).terms.limit = 1000;
  answers.add(true, 41);
  EXPECT_EQ(answers.conclude().tightest, 1);
}

TEST(Decision, of_equal_shares_the_longer_window_is_tighter) {
  Answers answers;
  answers.add(true, 99);
  answers.add(true, 198);
  answers.policy(1).terms.limit = 200;
  answers.policy(1).terms.window_ms = 3'600'000;
  answers.add(true, 99);
  EXPECT_EQ(answers.conclude().tightest, 1);
}

TEST(Decision, a_full_bucket_is_not_tight_however_small) {
  Answers answers;
  answers.add(true, 60);
  answers.add(true, 10);
  answers.policy(1).terms.algorithm = AlgorithmKind::token_bucket;
  answers.policy(1).terms.burst = 10;
  EXPECT_EQ(answers.conclude().tightest, 0);
}

TEST(Decision, warns_from_warn_at_on) {
  Answers answers;
  answers.add(true, 21);
  answers.add(true, 20);
  answers.add(true, 0);
  answers.policy(0).warn_at = 80;
  answers.policy(1).warn_at = 80;
  EXPECT_EQ(answers.conclude().warnings, 0b010U);
}

TEST(Decision, waits_for_the_slowest_passing_bucket) {
  Answers answers;
  answers.add(true, 0).verdict.wait_ms = 300;
  answers.add(true, 0).verdict.wait_ms = 700;
  Charge& shadow = answers.add(true, 0);
  shadow.verdict.wait_ms = 5000;
  shadow.enforcement = Enforcement::shadow;
  EXPECT_EQ(answers.conclude().wait_ms, 700);
  answers.add(false, 0, 100);
  EXPECT_EQ(answers.conclude().wait_ms, 0);
}

TEST(Decision, delays_only_if_every_refusing_layer_says_so) {
  Answers answers;
  answers.add(false, 0, 400);
  answers.policy(0).on_exceed = OnExceed::delay;
  answers.policy(0).max_delay_ms = 500;
  EXPECT_TRUE(answers.conclude().delayable);
  answers.add(false, 0, 600);
  answers.policy(1).on_exceed = OnExceed::delay;
  answers.policy(1).max_delay_ms = 500;
  EXPECT_FALSE(answers.conclude().delayable) << "longer than the layer's max_delay";
  answers.policy(1).max_delay_ms = 600;
  EXPECT_TRUE(answers.conclude().delayable);
  answers.add(false, 0, 10);
  EXPECT_FALSE(answers.conclude().delayable) << "a layer that rejects";
}

TEST(Decision, queues_only_if_every_refusing_layer_says_so) {
  Answers answers;
  answers.add(true, 5);
  answers.add(false, 0, 400);
  answers.policy(1).on_exceed = OnExceed::queue;
  EXPECT_TRUE(answers.conclude().queueable);
  answers.add(false, 0, kNever);
  answers.policy(2).on_exceed = OnExceed::queue;
  EXPECT_FALSE(answers.conclude().queueable) << "waiting cannot help";
}

TEST(Decision, a_layer_that_fails_shut_is_an_outage_not_a_hit) {
  Answers answers;
  answers.add(false, 0, 1000).answered = Answered::local;
  Charge& shut = answers.add(false, 0, 5000);
  shut.answered = Answered::failed_shut;
  answers.policy(1).on_exceed = OnExceed::queue;
  const Decision decision = answers.conclude();
  EXPECT_EQ(decision.outcome, Outcome::store_down);
  EXPECT_EQ(decision.hits, 0b01U);
  EXPECT_EQ(decision.retry_after_ms, 5000);
  EXPECT_FALSE(decision.queueable);
  shut.enforcement = Enforcement::shadow;
  EXPECT_EQ(answers.conclude().outcome, Outcome::over_limit);
}

TEST(Decision, a_layer_that_fails_open_says_nothing) {
  Answers answers;
  Charge& open = answers.add(false, 0, kNever);
  open.answered = Answered::failed_open;
  answers.policy(0).warn_at = 1;
  answers.add(true, 30);
  const Decision decision = answers.conclude();
  EXPECT_TRUE(decision.allowed());
  EXPECT_EQ(decision.tightest, 1);
  EXPECT_EQ(decision.warnings, 0U);
}

}  // namespace
}  // namespace weir::limit
