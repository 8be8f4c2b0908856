// SPDX-License-Identifier: Apache-2.0
// The files in config/ load, and the two documents the gateway was built for mean what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "asking.hpp"
#include "folder.hpp"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kConfig = WEIR_SOURCE_DIR "/config/";

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

class Shipped : public testing::TestWithParam<const char*> {};

TEST_P(Shipped, LoadsWithoutErrors) {
  const LoadResult result = load(kConfig + GetParam());
  EXPECT_THAT(result.errors, IsEmpty());
  ASSERT_NE(result.runtime, nullptr);
  EXPECT_EQ(result.runtime->version.size(), 8U);
}

INSTANTIATE_TEST_SUITE_P(Config, Shipped,
                         testing::Values("weir.yaml", "examples/gateway.weir.yaml", "examples/saas.weir.yaml",
                                         "examples/store-failure.weir.yaml",
                                         "examples/everything.weir.yaml"));

TEST(Shipped, DemoHasNoWarningsAndRefusesTheSixthRequestOfAUser) {
  const LoadResult result = load(kConfig + "weir.yaml");
  EXPECT_THAT(result.warnings, IsEmpty());
  ASSERT_NE(result.runtime, nullptr);
  const Asked asked = ask(*result.runtime, {{"caller", "c"}, {"user", "bob"}, {"api", "other"}});
  EXPECT_EQ(asked.limit("user"), 5);
  EXPECT_EQ(asked.policy.at("user").terms.window_ms, 10'000);
}

TEST(GatewayDocument, IsTheOneThatWasGiven) {
  EXPECT_EQ(read(kConfig + "examples/gateway.yaml"),
            "limit:                                    # the gateway\n"
            "  node: {total: 100000, algorithm: sliding_window}\n"
            "  caller: {default: 5000, overrides: {high_priority_caller: 20000, scraping_bot: 500}}\n"
            "  user: {default: 100}\n"
            "  api:\n"
            "    default: 600\n"
            "    overrides: {\"/order/pay\": 60, \"/user/info\": 200}\n"
            "    priority: {\"/order/pay\": true}\n");
}

TEST(GatewayDocument, MeansWhatItSays) {
  const LoadResult result = load(kConfig + "examples/gateway.weir.yaml");
  ASSERT_NE(result.runtime, nullptr);
  const Asked usual = ask(*result.runtime, {{"caller", "someone"}, {"user", "u"}, {"api", "other"}});
  EXPECT_THAT(usual.layers, ElementsAre("node", "caller", "user", "api"));
  EXPECT_EQ(usual.limit("node"), 100000);
  EXPECT_EQ(usual.limit("caller"), 5000);
  EXPECT_EQ(usual.limit("user"), 100);
  EXPECT_EQ(usual.limit("api"), 600);
  EXPECT_EQ(ask(*result.runtime, {{"caller", "high_priority_caller"}}).limit("caller"), 20000);
  EXPECT_EQ(ask(*result.runtime, {{"caller", "scraping_bot"}}).limit("caller"), 500);
  for (const auto& [layer, policy] : usual.policy) {
    EXPECT_EQ(policy.terms.window_ms, 60'000) << layer;
  }
  const Asked info = ask(*result.runtime, {{"caller", "c"}, {"user", "u"}, {"api", "/user/info"}});
  EXPECT_EQ(info.limit("api"), 200);
  EXPECT_THAT(info.layers, ElementsAre("node", "caller", "user", "api"));
  const Asked pay = ask(*result.runtime, {{"caller", "c"}, {"user", "u"}, {"api", "/order/pay"}});
  EXPECT_EQ(pay.limit("api"), 60);
  EXPECT_THAT(pay.layers, ElementsAre("node", "caller", "api", "user"));
}

TEST(GatewayDocument, CountsAsEachLayerUsuallyDoes) {
  using limit::AlgorithmKind;
  const LoadResult result = load(kConfig + "examples/gateway.weir.yaml");
  ASSERT_NE(result.runtime, nullptr);
  const Asked usual = ask(*result.runtime, {{"caller", "someone"}, {"user", "u"}, {"api", "other"}});
  EXPECT_EQ(usual.policy.at("node").terms.algorithm, AlgorithmKind::sliding_window);
  EXPECT_EQ(usual.policy.at("node").terms.cells, 100);
  EXPECT_EQ(usual.policy.at("caller").terms.algorithm, AlgorithmKind::token_bucket);
  EXPECT_EQ(usual.policy.at("caller").terms.burst, 5000);
  EXPECT_EQ(usual.policy.at("user").terms.algorithm, AlgorithmKind::token_bucket);
  EXPECT_EQ(usual.policy.at("api").terms.algorithm, AlgorithmKind::fixed_window);
  EXPECT_TRUE(usual.policy.at("api").hashed_offset);
}

// The quota path has no method, so it stands for every method: also for the route POST /order/pay.
TEST(GatewayDocument, HoldsForTheRouteWithAMethod) {
  const LoadResult result = load(kConfig + "examples/gateway.weir.yaml");
  ASSERT_NE(result.runtime, nullptr);
  std::vector<std::string> apis;
  for (const auto& pattern : result.runtime->extractor.options().apis) apis.push_back(pattern.text);
  EXPECT_THAT(apis, ElementsAre("/order/pay", "/user/info", "/**"));
}

TEST(SaasDocument, IsTheOneThatWasGiven) {
  EXPECT_EQ(
      read(kConfig + "examples/saas.yaml"),
      "limit:                                    # the multi-tenant SaaS; classes: billing /billing /prepay; "
      "report /report /export; alarm /alarm /notify; device the rest\n"
      "  caller: {default: 500, algorithm: sliding_log}\n"
      "  role:  {default: 100, overrides: {OPERATOR: 200, FINANCE: 100, ENGINEER: 150, SYSTEM: 50}, "
      "algorithm: "
      "sliding_log}\n"
      "  class: {default: 50, overrides: {billing: {limit: 50, on_exceed: queue}, report: 80, device: 100, "
      "alarm: 30}, algorithm: sliding_log}\n");
}

TEST(SaasDocument, MeansWhatItSays) {
  const LoadResult result = load(kConfig + "examples/saas.weir.yaml");
  ASSERT_NE(result.runtime, nullptr);
  const auto limits = [&](const std::string& role, const std::string& of_class) {
    const Asked asked = ask(*result.runtime, {{"caller", "tenant"}, {"role", role}, {"class", of_class}});
    EXPECT_THAT(asked.layers, ElementsAre("caller", "role", "class"));
    for (const auto& [layer, policy] : asked.policy) {
      EXPECT_EQ(policy.terms.algorithm, limit::AlgorithmKind::sliding_log) << layer;
      EXPECT_EQ(policy.terms.window_ms, 60'000) << layer;
    }
    EXPECT_EQ(asked.limit("caller"), 500);
    return std::pair(asked.limit("role"), asked.limit("class"));
  };
  EXPECT_EQ(limits("OPERATOR", "billing"), std::pair(std::int64_t{200}, std::int64_t{50}));
  EXPECT_EQ(limits("FINANCE", "report"), std::pair(std::int64_t{100}, std::int64_t{80}));
  EXPECT_EQ(limits("ENGINEER", "device"), std::pair(std::int64_t{150}, std::int64_t{100}));
  EXPECT_EQ(limits("SYSTEM", "alarm"), std::pair(std::int64_t{50}, std::int64_t{30}));
  EXPECT_EQ(limits("GUEST", "other"), std::pair(std::int64_t{100}, std::int64_t{50}));
  const Asked billing = ask(*result.runtime, {{"caller", "t"}, {"role", "SYSTEM"}, {"class", "billing"}});
  EXPECT_EQ(billing.policy.at("class").on_exceed, limit::OnExceed::queue);
}

TEST(SaasDocument, SaysThatTheQueueDoesNotExistYet) {
  const LoadResult result = load(kConfig + "examples/saas.weir.yaml");
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_THAT(result.warnings[0], HasSubstr("saas.yaml:4:"));
  EXPECT_THAT(result.warnings[0], HasSubstr("limit.class.overrides.billing: on_exceed: queue answers 429"));
}

TEST(StoreFailureExample, HasTheTableOfEachLayer) {
  using limit::FailureMode;
  const LoadResult result = load(kConfig + "examples/store-failure.weir.yaml");
  ASSERT_NE(result.runtime, nullptr);
  const Asked asked =
      ask(*result.runtime, {{"ip", "192.0.2.1"}, {"caller", "c"}, {"user", "u"}, {"api", "other"}});
  EXPECT_THAT(asked.layers, ElementsAre("ip", "caller", "user", "api"));
  const auto modes = [&](const std::string& layer) {
    const limit::Policy& policy = asked.policy.at(layer);
    return std::pair(policy.on_brief_failure, policy.on_long_failure);
  };
  EXPECT_EQ(modes("ip"), std::pair(FailureMode::local, FailureMode::allow));
  EXPECT_EQ(modes("user"), std::pair(FailureMode::allow, FailureMode::allow));
  EXPECT_EQ(modes("api"), std::pair(FailureMode::local, FailureMode::allow));
  EXPECT_EQ(modes("caller"), std::pair(FailureMode::local, FailureMode::local));
  EXPECT_EQ(asked.policy.at("ip").terms.window_ms, 1000);
}

// Every key any parser asked for while the shipped files were read stands in config/README.md.
TEST(Readme, NamesEveryKey) {
  const std::string readme = read(kConfig + "README.md");
  std::set<std::string> keys;
  load(kConfig + "examples/everything.weir.yaml", &keys);
  load(kConfig + "examples/saas.weir.yaml", &keys);
  ASSERT_GT(keys.size(), 100U);
  for (const std::string& key : keys) {
    const bool own_word = key.find('/') != std::string::npos || key == "eu" || key == "us" ||
                          key == "billing" || key == "report" || key == "alarm" || key == "device" ||
                          key == "other_apis";
    if (own_word) continue;
    EXPECT_THAT(readme, HasSubstr("`" + key + "`")) << "a key that config/README.md does not explain";
  }
}

// Keys of the files, as written; everything.*.yaml is where a reader looks for them.
void collect_keys(const std::string& text, std::set<std::string>& out) {
  std::string word;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '#') {
      at = text.find('\n', at);
      word.clear();
    } else if ((c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9')) {
      word += c;
    } else {
      if (c == ':' && !word.empty() && at + 1 < text.size() &&
          (text[at + 1] == ' ' || text[at + 1] == '\n')) {
        out.insert(word);
      }
      word.clear();
    }
  }
}

TEST(EverythingExample, HasEveryKeyTheParsersKnow) {
  std::set<std::string> known;
  load(kConfig + "examples/everything.weir.yaml", &known);
  std::set<std::string> written;
  collect_keys(read(kConfig + "examples/everything.weir.yaml"), written);
  collect_keys(read(kConfig + "examples/everything.yaml"), written);
  collect_keys(read(kConfig + "examples/everything.keys.yaml"), written);
  // Two names of one thing, secrets in the clear, and what no version supports yet.
  for (const char* other :
       {"default", "token", "token_file", "password", "bytes_per_permit", "client_certificate"}) {
    written.insert(other);
  }
  for (const std::string& key : known) {
    if (key.find('/') != std::string::npos) continue;
    EXPECT_TRUE(written.contains(key)) << key << " stands in no example";
  }
}

}  // namespace
}  // namespace weir::config
