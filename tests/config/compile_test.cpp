// SPDX-License-Identifier: Apache-2.0
// What the quotas mean once compiled: asked through the chain itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "asking.hpp"
#include "folder.hpp"

namespace weir::config {
namespace {

using limit::AlgorithmKind;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::shared_ptr<const pipeline::Runtime> runtime(const std::string& quotas, const std::string& more = "") {
  const Folder folder;
  const LoadResult result = load_texts(folder, std::string(kWeir) + more, quotas);
  EXPECT_EQ(text_of(result.errors, folder), "");
  return result.runtime;
}

TEST(Chain, StandsInTheCanonicalOrder) {
  const auto made = runtime(
      "limit:\n  api: {default: 1}\n  user: {default: 1}\n  role: {default: 1}\n  mine: {key: [user], "
      "default: 1}\n"
      "  caller: {default: 1}\n  node: {total: 1}\n  ip: {default: 1}\n  first: {key: [caller], default: 1, "
      "before: node}\n"
      "  second: {key: [caller], default: 1, before: first}\n");
  ASSERT_NE(made, nullptr);
  const Asked asked =
      ask(*made, {{"ip", "1.2.3.4"}, {"caller", "c"}, {"user", "u"}, {"role", "r"}, {"api", "other"}});
  EXPECT_THAT(asked.layers,
              ElementsAre("ip", "second", "first", "node", "caller", "user", "role", "mine", "api"));
}

TEST(Inheritance, OverridesTakeFromTheLayerWhatTheyDoNotSay) {
  const auto made = runtime(
      "limit:\n  caller: {default: 100, burst: 20, window: 10s, warn_at: 0.5, overrides: {a: 200, b: {burst: "
      "5}, "
      "c: {limit: 7, window: 1h, algorithm: sliding_window}}}\n");
  ASSERT_NE(made, nullptr);
  const auto terms = [&](const char* caller) {
    return ask(*made, {{"caller", caller}}).policy.at("caller").terms;
  };
  EXPECT_EQ(terms("x").limit, 100);
  EXPECT_EQ(terms("x").burst, 20);
  EXPECT_EQ(terms("a").limit, 200);
  EXPECT_EQ(terms("a").burst, 20);
  EXPECT_EQ(terms("a").window_ms, 10'000);
  EXPECT_EQ(terms("b").limit, 100);
  EXPECT_EQ(terms("b").burst, 5);
  EXPECT_EQ(terms("c").algorithm, AlgorithmKind::sliding_window);
  EXPECT_EQ(terms("c").cells, 10);
  EXPECT_EQ(terms("c").burst, 7);
  EXPECT_EQ(terms("c").window_ms, 3'600'000);
  EXPECT_EQ(ask(*made, {{"caller", "x"}}).policy.at("caller").warn_at, 10) << "half of the burst";
}

TEST(Words, UnlimitedAddsNothingAndBlockedBlocks) {
  const auto made =
      runtime("limit: {caller: {default: 5, overrides: {free: unlimited, bad: {limit: blocked}}}}");
  ASSERT_NE(made, nullptr);
  EXPECT_THAT(ask(*made, {{"caller", "free"}}).layers, IsEmpty());
  EXPECT_EQ(ask(*made, {{"caller", "bad"}}).blocked, "caller");
  EXPECT_EQ(ask(*made, {{"caller", "x"}}).limit("caller"), 5);
}

TEST(Inheritance, AnOmittedLimitIsTheDefaultAlsoWhereThatIsAWord) {
  const auto made = runtime("limit: {caller: {default: blocked, overrides: {a: {mode: shadow}, b: 5}}}");
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(ask(*made, {{"caller", "a"}}).blocked, "caller");
  EXPECT_EQ(ask(*made, {{"caller", "b"}}).limit("caller"), 5);
}

TEST(Tiers, HaveLimitsAndWindowsOfTheirOwn) {
  const auto made = runtime(
      "limit: {user: {default: 10, tiers: {free: 1000/day, paid: {limit: 500, window: 1h}}, anonymous: 3, "
      "time_zone: Europe/Berlin}}");
  ASSERT_NE(made, nullptr);
  const auto policy = [&](const char* user, const char* tier) {
    return ask(*made, {{"caller", "c"}, {"user", user}, {"tier", tier}}).policy.at("user");
  };
  EXPECT_EQ(policy("u", "free").terms.limit, 1000);
  EXPECT_EQ(policy("u", "free").calendar, limit::CalendarUnit::day);
  EXPECT_EQ(policy("u", "free").time_zone, "Europe/Berlin");
  EXPECT_EQ(policy("u", "free").terms.algorithm, AlgorithmKind::fixed_window);
  EXPECT_FALSE(policy("u", "free").hashed_offset);
  EXPECT_EQ(policy("u", "paid").terms.window_ms, 3'600'000);
  EXPECT_EQ(policy("u", "gold").terms.limit, 10);
  EXPECT_EQ(policy("", "paid").terms.limit, 3) << "anonymous stands before the tier";
}

TEST(Overrides, HoldInTheirTimeOnly) {
  const auto made = runtime(
      "limit: {caller: {default: 5, overrides: {x: {limit: 50, from: 2100-01-01T00:00:00Z, until: "
      "2100-02-01T00:00:00Z}}}}");
  ASSERT_NE(made, nullptr);
  std::string why;
  const std::int64_t start = 4'102'444'800'000;
  EXPECT_EQ(ask(*made, {{"caller", "x"}}, start - 1).limit("caller"), 5);
  EXPECT_EQ(ask(*made, {{"caller", "x"}}, start).limit("caller"), 50);
  EXPECT_EQ(ask(*made, {{"caller", "x"}}, start + 31LL * 86'400'000).limit("caller"), 5);
}

TEST(CallerOverride, HasItsOwnUsersAndApis) {
  const auto made = runtime(
      "limit:\n"
      "  caller: {default: 100, overrides: {partner: {user: {default: 30, overrides: {root: 90}}, api: "
      "{/pay: 7}}}}\n"
      "  user: {default: 10, overrides: {vip: 20}}\n"
      "  api: {default: 1000, window: 10s}\n");
  ASSERT_NE(made, nullptr);
  const auto as = [&](const char* caller, const char* user, const char* api) {
    return ask(*made, {{"caller", caller}, {"user", user}, {"api", api}});
  };
  EXPECT_EQ(as("partner", "u", "other").limit("caller"), 100) << "no limit of its own: the default";
  EXPECT_EQ(as("partner", "u", "other").limit("user"), 30);
  EXPECT_EQ(as("partner", "root", "other").limit("user"), 90);
  EXPECT_EQ(as("partner", "vip", "other").limit("user"), 30) << "the caller's own section is more specific";
  EXPECT_EQ(as("someone", "vip", "other").limit("user"), 20);
  EXPECT_EQ(as("someone", "root", "other").limit("user"), 10);
  EXPECT_THAT(as("partner", "u", "/pay").layers, ElementsAre("caller", "user", "caller_api", "api"));
  EXPECT_EQ(as("partner", "u", "/pay").limit("caller_api"), 7);
  EXPECT_EQ(as("partner", "u", "/pay").policy.at("caller_api").terms.window_ms, 10'000);
  EXPECT_THAT(as("partner", "u", "other").layers, ElementsAre("caller", "user", "api"));
  EXPECT_THAT(as("someone", "u", "/pay").layers, ElementsAre("caller", "user", "api"));
}

TEST(ExemptLane, IsWiderByTheFactorAndHasCountersOfItsOwn) {
  const auto made = runtime(
      "limit: {node: {total: 100}, caller: {default: 10, algorithm: sliding_log, overrides: {big: 5000}}, "
      "exempt: "
      "{factor: 4}}");
  ASSERT_NE(made, nullptr);
  const Asked usual = ask(*made, {{"caller", "c"}});
  const Asked exempt = ask(*made, {{"caller", "c"}}, 1'800'000'000'000, Lane::exempt);
  EXPECT_EQ(exempt.limit("node"), 400);
  EXPECT_EQ(exempt.limit("caller"), 40);
  EXPECT_NE(exempt.key.at("node"), usual.key.at("node"));
  const Asked big = ask(*made, {{"caller", "big"}}, 1'800'000'000'000, Lane::exempt);
  EXPECT_EQ(big.limit("caller"), 20'000);
  EXPECT_EQ(big.policy.at("caller").terms.algorithm, AlgorithmKind::sliding_window)
      << "a log is at most 10000 long";
}

TEST(Defaults, OfEachAlgorithm) {
  const auto made = runtime(
      "limit:\n  a: {key: [caller], default: 9, algorithm: leaky_bucket, max_wait: 2s}\n"
      "  b: {key: [caller], default: 9, algorithm: concurrency}\n"
      "  c: {key: [caller], default: 9, algorithm: sliding_window, cells: 20}\n"
      "  d: {key: [caller], default: 9, algorithm: gcra}\n  ip: {default: 9}\n");
  ASSERT_NE(made, nullptr);
  const Asked asked = ask(*made, {{"caller", "c"}, {"ip", "1.2.3.4"}});
  EXPECT_EQ(asked.policy.at("a").terms.burst, 1);
  EXPECT_EQ(asked.policy.at("a").terms.max_wait_ms, 2000);
  EXPECT_EQ(asked.policy.at("b").terms.window_ms, 5000);
  EXPECT_EQ(asked.policy.at("c").terms.cells, 20);
  EXPECT_EQ(asked.policy.at("d").terms.burst, 9);
  EXPECT_EQ(asked.policy.at("ip").terms.window_ms, 1000);
  EXPECT_EQ(asked.policy.at("ip").terms.algorithm, AlgorithmKind::fixed_window);
}

TEST(Settings, ReachThePolicy) {
  const auto made = runtime(
      "limit: {user: {default: 10, mode: shadow, enforce_percent: 20%, warn_at: 80%, on_exceed: delay, "
      "max_delay: 3s, "
      "scope: instance, on_store_failure: {brief: allow, long: deny}, algorithm: fixed_window, offset: "
      "none}}");
  ASSERT_NE(made, nullptr);
  const limit::Policy policy = ask(*made, {{"caller", "c"}, {"user", "u"}}).policy.at("user");
  EXPECT_EQ(policy.enforcement, limit::Enforcement::shadow);
  EXPECT_EQ(policy.enforce_percent, 20);
  EXPECT_EQ(policy.warn_at, 8);
  EXPECT_EQ(policy.on_exceed, limit::OnExceed::delay);
  EXPECT_EQ(policy.max_delay_ms, 3000);
  EXPECT_EQ(policy.scope, limit::Scope::instance);
  EXPECT_EQ(policy.on_brief_failure, limit::FailureMode::allow);
  EXPECT_EQ(policy.on_long_failure, limit::FailureMode::deny);
  EXPECT_FALSE(policy.hashed_offset);
  EXPECT_EQ(policy.source, "quotas.yaml:1:25");
}

TEST(Capacity, SharesAreTakenOfIt) {
  const auto made = runtime("limit: {node: {capacity: 1000, total: 60%}}");
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(ask(*made, {}).limit("node"), 600);
}

TEST(ApiKeys, MayBeOfOneCallerOrOneUser) {
  const auto made = runtime("limit: {api: {key: [caller, api], default: 5, overrides: {\"POST  /x\": 3}}}");
  ASSERT_NE(made, nullptr);
  const auto asked = [&](const char* caller) { return ask(*made, {{"caller", caller}, {"api", "POST /x"}}); };
  EXPECT_EQ(asked("a").limit("api"), 3) << "blanks in the pattern do not count";
  EXPECT_NE(asked("a").key.at("api"), asked("b").key.at("api"));
}

TEST(Apis, AreRoutesAndQuotaPathsEachOnce) {
  const auto made =
      runtime("limit: {api: {default: 5, overrides: {/a: 1, \"/b/{x}\": 2}, cost: {/a: 1, \"GET /c\": 3}}}",
              "routes: [{path: \"POST /a\"}, {path: \"/b/{id}\"}, {path: \"POST /c\"}, {path: \"/**\"}]\n");
  ASSERT_NE(made, nullptr);
  std::vector<std::string> apis;
  for (const auto& pattern : made->extractor.options().apis) apis.push_back(pattern.text);
  EXPECT_THAT(apis, ElementsAre("/a", "/b/{x}", "GET /c", "POST /c", "/**"));
  EXPECT_EQ(made->cost.by_api.at("GET /c"), 3);
}

TEST(Identity, KnowsWhichDimensionsLayersCountBy) {
  const auto made = runtime("limit: {region: {default: 5}, user: {default: 5}, class: {default: 5}}",
                            "regions: {eu: [192.0.2.0/24]}\n");
  ASSERT_NE(made, nullptr);
  std::map<std::string, bool> used;
  for (const auto& one : made->extractor.options().dimensions) {
    used[one.name] = one.used_by_layer;
    if (one.name == "region") EXPECT_EQ(one.missing, identity::Missing::anonymous);
  }
  EXPECT_TRUE(used.at("caller"));
  EXPECT_TRUE(used.at("user"));
  EXPECT_TRUE(used.at("class"));
  EXPECT_TRUE(used.at("region"));
  EXPECT_FALSE(used.at("role"));
}

TEST(Fields, ProxyHeadersOfStrangersAreTakenOut) {
  const auto made = runtime("limit: {cost: {header: X-Cost, settle: {response_header: X-Tokens}}}",
                            "trusted_proxies: [10.0.0.0/8]\nanswers: {upstream_fields: strip}\n");
  ASSERT_NE(made, nullptr);
  EXPECT_TRUE(made->removed_from_others.contains("x-cost"));
  EXPECT_FALSE(made->removed_from_trusted.contains("x-cost"));
  EXPECT_FALSE(made->removed_from_others.contains("x-caller-id")) << "anyone may assert it here";
  EXPECT_TRUE(made->removed_from_responses.contains("ratelimit"));
  EXPECT_TRUE(made->removed_from_responses.contains("x-tokens"));
}

TEST(OverridesFile, HoldsVeryLongLists) {
  const Folder folder;
  std::string json = "{";
  for (int n = 0; n < 100'000; ++n) {
    json += (n > 0 ? ",\n\"c" : "\"c") + std::to_string(n) + "\": " + std::to_string(n % 1000 + 1);
  }
  folder.write("big.json", json + "}");
  const LoadResult result = load_texts(
      folder, kWeir, "limit: {caller: {default: 5, overrides: {own: 9}, overrides_file: big.json}}");
  ASSERT_NE(result.runtime, nullptr) << text_of(result.errors, folder);
  EXPECT_EQ(ask(*result.runtime, {{"caller", "c99998"}}).limit("caller"), 999);
  EXPECT_EQ(ask(*result.runtime, {{"caller", "own"}}).limit("caller"), 9);
  EXPECT_THAT(result.files, Contains(folder / "big.json"));
}

}  // namespace
}  // namespace weir::config
