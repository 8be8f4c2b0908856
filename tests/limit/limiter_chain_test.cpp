// SPDX-License-Identifier: Apache-2.0
#include "weir/limit/limiter_chain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "limit/chain_builder.hpp"

namespace weir::limit {
namespace {

using testing::ElementsAre;

Policy tokens(std::int64_t limit) {
  return policy_of(AlgorithmKind::token_bucket, limit);
}

std::vector<std::string> layers_of(const Built& built) {
  std::vector<std::string> names;
  for (const Charge& each : built.set->charges()) names.push_back(each.policy->layer);
  return names;
}

const LimiterChain& canonical() {
  static const LimiterChain chain =
      chain_of({}, layer_of("node", {node}, tokens(1000)), layer_of("caller", {caller}, tokens(100)),
               layer_of("user", {caller, user}, tokens(10)), layer_of("api", {api}, tokens(50)));
  return chain;
}

TEST(LimiterChain, one_charge_per_layer_in_the_order_of_the_chain) {
  const Built built = build(canonical(), Who().is(caller, "a").is(user, "u").is(api, "/x").costs(3));
  EXPECT_THAT(layers_of(built), ElementsAre("node", "caller", "user", "api"));
  for (const Charge& each : built.set->charges()) {
    EXPECT_EQ(each.request.cost, 3);
    EXPECT_FALSE(each.charged);
    EXPECT_EQ(each.enforcement, Enforcement::enforce);
  }
}

TEST(LimiterChain, a_layer_without_its_fact_does_not_apply) {
  EXPECT_THAT(layers_of(build(canonical(), Who().is(caller, "a").is(api, "/x"))),
              ElementsAre("node", "caller", "api"));
  EXPECT_THAT(layers_of(build(canonical(), Who().is(caller, "a").anonymous(user).is(api, "/x"))),
              ElementsAre("node", "caller", "user", "api"));
}

TEST(LimiterChain, a_set_is_used_again_from_its_start) {
  const LimiterChain& chain = canonical();
  Who who = Who().is(caller, "a");
  ChargeSet set;
  chain.build(who.descriptor(), 0, set);
  set.charge[0].charged = true;
  set.charge[0].verdict.within_limit = false;
  set.charge[0].answered = Answered::local;
  chain.build(who.descriptor(), 0, set);
  EXPECT_EQ(set.size, 2U);
  EXPECT_FALSE(set.charge[0].charged);
  EXPECT_TRUE(set.charge[0].verdict.within_limit);
  EXPECT_EQ(set.charge[0].answered, Answered::store);
}

TEST(LimiterChain, unlimited_adds_nothing_and_blocked_is_named) {
  Layer callers = layer_of("caller", {caller}, tokens(10));
  Policy unlimited, blocked;
  unlimited.access = Access::unlimited;
  blocked.access = Access::blocked;
  callers.policies.add_override("free", {callers.policies.own(unlimited)});
  callers.policies.add_override("bad", {callers.policies.own(blocked)});
  const auto chain = chain_of({}, layer_of("node", {node}, tokens(10)), std::move(callers));
  EXPECT_THAT(layers_of(build(chain, Who().is(caller, "free"))), ElementsAre("node"));
  EXPECT_EQ(build(chain, Who().is(caller, "free")).blocked, "");
  EXPECT_EQ(build(chain, Who().is(caller, "bad")).blocked, "caller");
}

TEST(LimiterChain, concurrency_takes_one_slot_whatever_the_cost) {
  const auto chain = chain_of({}, layer_of("caller", {caller}, policy_of(AlgorithmKind::concurrency, 5)));
  EXPECT_EQ(build(chain, Who().is(caller, "a").costs(7)).set->charge[0].request.cost, 1);
}

TEST(LimiterChain, an_api_with_priority_comes_before_the_user) {
  Layer apis = layer_of("api", {api}, tokens(10));
  apis.priority_values = {"POST /pay"};
  const auto chain = chain_of(
      {}, layer_of("node", {node}, tokens(9)), layer_of("caller", {caller}, tokens(9)),
      layer_of("user", {caller, user}, tokens(9)), layer_of("role", {role}, tokens(9)), std::move(apis));
  const Who who = Who().is(caller, "a").is(user, "u").is(role, "r");
  EXPECT_THAT(layers_of(build(chain, Who(who).is(api, "POST /pay"))),
              ElementsAre("node", "caller", "api", "user", "role"));
  EXPECT_THAT(layers_of(build(chain, Who(who).is(api, "GET /pay"))),
              ElementsAre("node", "caller", "user", "role", "api"));
}

TEST(LimiterChain, the_exempt_lane_has_limits_of_its_own_never_none) {
  Layer callers = layer_of("caller", {caller}, tokens(10));
  callers.exempt.set_default(callers.exempt.own(tokens(100)));
  const auto chain = chain_of({}, layer_of("node", {node}, tokens(7)), std::move(callers));
  const Built built = build(chain, Who().is(caller, "a").exempt());
  ASSERT_EQ(built.set->size, 2U);
  EXPECT_EQ(built.set->charge[0].policy->terms.limit, 7);
  EXPECT_EQ(built.set->charge[1].policy->terms.limit, 100);
}

TEST(LimiterChain, windows_start_at_an_offset_hashed_from_the_key) {
  const auto offset_of = [](Policy policy) {
    const auto chain = chain_of({}, layer_of("caller", {caller}, std::move(policy)));
    return build(chain, Who().is(caller, "a")).set->charge[0].request.offset_ms;
  };
  Policy fixed = policy_of(AlgorithmKind::fixed_window, 10, 7'000);
  EXPECT_EQ(offset_of(fixed), stable_hash("w2:edge-1:{c=a}:caller:fw:7000") % 7000);
  fixed.hashed_offset = false;
  EXPECT_EQ(offset_of(fixed), 0);
  EXPECT_EQ(offset_of(policy_of(AlgorithmKind::sliding_counter, 10, 7'000)),
            stable_hash("w2:edge-1:{c=a}:caller:sc:7000") % 7000);
  EXPECT_EQ(offset_of(policy_of(AlgorithmKind::token_bucket, 10, 7'000)), 0);
  Policy daily = policy_of(AlgorithmKind::fixed_window, 10, 86'400'000);
  daily.terms.calendar = true;
  daily.calendar = CalendarUnit::day;
  daily.time_zone = "UTC";
  EXPECT_EQ(offset_of(daily), 0);
}

TEST(LimiterChain, calendar_windows_carry_their_bounds) {
  Policy daily = policy_of(AlgorithmKind::fixed_window, 10, 86'400'000);
  daily.terms.calendar = true;
  daily.calendar = CalendarUnit::day;
  daily.time_zone = "UTC";
  const auto chain = chain_of({}, layer_of("caller", {caller}, daily));
  const Built built = build(chain, Who().is(caller, "a"), 3 * 86'400'000 + 5);
  EXPECT_THAT(built.set->charge[0].request.bounds.at,
              ElementsAre(2 * 86'400'000, 3 * 86'400'000, 4 * 86'400'000, 5 * 86'400'000));
}

TEST(LimiterChain, a_stable_share_of_keys_enforces) {
  Policy policy = tokens(10);
  policy.enforce_percent = 30;
  const auto chain = chain_of({}, layer_of("caller", {caller}, policy));
  int enforced = 0;
  for (int n = 0; n < 2000; ++n) {
    const Who who = Who().is(caller, "caller-" + std::to_string(n));
    const Enforcement first = build(chain, who).set->charge[0].enforcement;
    EXPECT_EQ(build(chain, who).set->charge[0].enforcement, first);
    enforced += first == Enforcement::enforce ? 1 : 0;
  }
  EXPECT_NEAR(enforced, 600, 60);
  for (const std::uint8_t percent : {0, 100}) {
    policy.enforce_percent = percent;
    const auto all = chain_of({}, layer_of("caller", {caller}, policy));
    EXPECT_EQ(build(all, Who().is(caller, "x")).set->charge[0].enforcement,
              percent == 0 ? Enforcement::shadow : Enforcement::enforce);
  }
}

TEST(LimiterChain, refuses_what_it_cannot_compile) {
  std::vector<Layer> many;
  for (std::size_t n = 0; n <= kMaxLayers; ++n)
    many.push_back(layer_of("layer" + std::to_string(n), {caller}, tokens(1)));
  EXPECT_THROW(LimiterChain({}, std::move(many)), std::invalid_argument);
  Layer keyless = layer_of("none", {}, tokens(1));
  EXPECT_THROW(chain_of({}, std::move(keyless)), std::invalid_argument);
}

// Which policy holds: the first line that matches, from the most specific.
TEST(PolicyTable, the_most_specific_wins) {
  PolicyTable table;
  const auto limit_is = [&](std::int64_t limit) { return table.own(tokens(limit)); };
  table.set_default(limit_is(1));
  table.add_tier("paid", limit_is(2));
  table.set_anonymous(limit_is(3));
  table.add_override("bob", {limit_is(4)});
  table.set_nested_default("partner", {limit_is(5)});
  table.add_nested("partner", "bob", {limit_is(6)});
  const DescriptorEntry none, bob{"bob", Fact::present}, eve{"eve", Fact::present},
      nobody{"", Fact::anonymous};
  const DescriptorEntry partner{"partner", Fact::present}, other{"other", Fact::present};
  const DescriptorEntry paid{"paid", Fact::present}, poor{"poor", Fact::present};
  const auto limit = [&](const auto& value, const auto& who, const auto& level) {
    return table.find(value, who, level, 0)->terms.limit;
  };
  EXPECT_EQ(limit(bob, partner, paid), 6);
  EXPECT_EQ(limit(eve, partner, paid), 5);
  EXPECT_EQ(limit(nobody, partner, paid), 5);
  EXPECT_EQ(limit(bob, other, paid), 4);
  EXPECT_EQ(limit(nobody, other, paid), 3);
  EXPECT_EQ(limit(eve, other, paid), 2);
  EXPECT_EQ(limit(eve, other, poor), 1);
  EXPECT_EQ(limit(eve, none, none), 1);
}

TEST(PolicyTable, overrides_hold_from_and_until) {
  PolicyTable table;
  table.set_default(table.own(tokens(1)));
  table.add_override("sale", {table.own(tokens(50)), 1000, 2000});
  table.add_override("sale", {table.own(tokens(20))});
  table.add_override("gone", {table.own(tokens(9)), INT64_MIN, 1000});
  const DescriptorEntry sale{"sale", Fact::present}, gone{"gone", Fact::present};
  EXPECT_EQ(table.find(sale, sale, {}, 999)->terms.limit, 20);
  EXPECT_EQ(table.find(sale, sale, {}, 1000)->terms.limit, 50);
  EXPECT_EQ(table.find(sale, sale, {}, 1999)->terms.limit, 50);
  EXPECT_EQ(table.find(sale, sale, {}, 2000)->terms.limit, 20);
  EXPECT_EQ(table.find(gone, gone, {}, 1000)->terms.limit, 1);
}

TEST(PolicyTable, without_a_default_only_overrides_apply) {
  PolicyTable table;
  table.add_nested("partner", "/pay", {table.own(tokens(5))});
  const DescriptorEntry pay{"/pay", Fact::present}, get{"/get", Fact::present},
      partner{"partner", Fact::present};
  EXPECT_NE(table.find(pay, partner, {}, 0), nullptr);
  EXPECT_EQ(table.find(get, partner, {}, 0), nullptr);
  EXPECT_EQ(table.find(pay, pay, {}, 0), nullptr);
}

}  // namespace
}  // namespace weir::limit
