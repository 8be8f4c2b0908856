// SPDX-License-Identifier: Apache-2.0
// What a configuration says against what its author most likely wants (src/config/lint*.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "folder.hpp"
#include "weir/base/clock.hpp"

namespace weir::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Warnings and notes of a quota file, beside kWeir and what is added to it.
std::string lint_of(std::string_view quotas, const std::string& more = {}) {
  const Folder folder;
  const LoadResult result = load_texts(folder, std::string(kWeir) + more, quotas);
  return text_of(result.errors, folder) + text_of(result.warnings, folder) + text_of(result.notes, folder);
}

std::string in_hours(int hours) {
  const std::time_t time = system_clock().wall_ms() / 1000 + 3600 * hours + 30;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

TEST(LintOverrides, EndsSoon) {
  const auto until = [](int hours) {
    return lint_of("limit: {caller: {default: 5, overrides: {x: {limit: 4, until: " + in_hours(hours) +
                   "}}}}");
  };
  EXPECT_THAT(until(51), HasSubstr("limit.caller.overrides.x: ends in 2 d 3 h; then what else is said"));
  EXPECT_THAT(until(5), HasSubstr("ends in 5 h"));
  EXPECT_THAT(until(24 * 8), Not(HasSubstr("ends in")));
  EXPECT_THAT(
      lint_of("limit: {caller: {default: 5, overrides: {x: {limit: 4, from: " + in_hours(26) + "}}}}"),
      HasSubstr("limit.caller.overrides.x: is not in force yet; it begins in 1 d 2 h"));
}

TEST(LintOverrides, ShadowedByAnEarlierOne) {
  const Folder folder;
  folder.write("more.json", R"({"x": 7, "y": 8})");
  const auto result = [&](const std::string& overrides) {
    return text_of(
        load_texts(folder, kWeir,
                   "limit: {caller: {default: 5, overrides_file: more.json, overrides: " + overrides + "}}")
            .warnings,
        folder);
  };
  EXPECT_THAT(result("{x: 4}"),
              AllOf(HasSubstr("more.json:1:"), HasSubstr("limit.caller.overrides.x: is shadowed"),
                    HasSubstr("at quotas.yaml:1:"), Not(HasSubstr("overrides.y"))));
  // A temporary one in front of a lasting one is what windows are for.
  EXPECT_THAT(result("{x: {limit: 4, until: 2126-01-01T00:00:00Z}}"), Not(HasSubstr("shadowed")));
  EXPECT_THAT(lint_of("limit: {api: {default: 9, overrides: {\"/o/{id}\": 5, \"/o/{number}\": 6}}}"),
              HasSubstr("limit.api.overrides./o/{number}: is shadowed"));
}

TEST(LintLimits, AUserThatCanUseItsCallerUp) {
  const std::string both = "limit: {caller: {default: 100, overrides: {small: SMALL}}, user: {default: 50}}";
  const auto with = [&](const std::string& small) {
    std::string text = both;
    return lint_of(text.replace(text.find("SMALL"), 5, small));
  };
  EXPECT_THAT(with("10"), HasSubstr("limit.caller.overrides.small: is less than each of its users may do "
                                    "(limit.user.default: 50 in 60 s)"));
  EXPECT_THAT(with("60"), Not(HasSubstr("each of its users")));
  EXPECT_THAT(with("{limit: 10, user: {default: 5}}"), Not(HasSubstr("each of its users")));
}

TEST(LintLimits, CallersThatTogetherPromiseFarMoreThanTheNode) {
  const std::string text =
      "limit: {node: {total: 100}, caller: {default: 10, overrides: {a: 100, b: 100, c: 90}}}";
  EXPECT_THAT(lint_of(text), Not(HasSubstr("together promise")));
  EXPECT_THAT(
      lint_of(
          "limit: {node: {total: 100}, caller: {default: 10, overrides: {a: 100, b: 100, c: 100, d: 50}}}"),
      HasSubstr("limit.caller.overrides: together promise 3.5 times what limit.node allows (100 in 60 s)"));
}

TEST(LintLimits, ALayerThatLimitsNobody) {
  EXPECT_THAT(lint_of("limit: {caller: {default: unlimited, overrides: {x: unlimited}}}"),
              HasSubstr("limit.caller: limits nobody"));
  EXPECT_THAT(lint_of("limit: {caller: {default: unlimited, overrides: {x: 5}}}"), Not(HasSubstr("nobody")));
}

TEST(LintTraffic, LayersThatSeeOneValue) {
  EXPECT_THAT(lint_of("limit: {class: {default: 5}}"),
              HasSubstr("limit.class: counts by class, but weir.yaml has no"));
  EXPECT_THAT(lint_of("limit: {class: {default: 5}}", "classes: {a: [/a]}\n"),
              Not(HasSubstr("counts by class")));
  EXPECT_THAT(lint_of("limit: {region: {default: 5}}"), HasSubstr("limit.region: counts by region"));
  EXPECT_THAT(lint_of("limit: {upstream: {default: 5}}"), HasSubstr("every route leads to the same one"));
  EXPECT_THAT(lint_of("limit: {api: {default: 5}}"), HasSubstr("limit.api: counts by api, but neither"));
  EXPECT_THAT(lint_of("limit: {api: {default: 5, overrides: {/a: 3}}}"), Not(HasSubstr("counts by api")));
}

TEST(LintTraffic, BlockedRoutesAndSharedPaths) {
  EXPECT_THAT(
      lint_of("limit: {api: {default: 5, overrides: {/a: blocked}}}", "routes: [{path: /a}, {path: /b}]\n"),
      HasSubstr("never passes a request: limit.api.overrides./a blocks its API"));
  EXPECT_THAT(
      lint_of("limit: {api: {default: 9, overrides: {/a: 5, POST /a: 3}}}"),
      HasSubstr(
          "limit.api.overrides./a: does not count POST requests, which have `POST /a` (quotas.yaml:1:"));
}

TEST(LintTraffic, CredentialsAreNoNames) {
  const auto source = [](const std::string& from) {
    const Folder folder;
    const std::string weir =
        "identity: {caller: {from: [{" + from +
        "}], missing: anonymous}}\nupstreams: {default: {endpoints: [\"127.0.0.1:9\"]}}\n";
    return text_of(load_texts(folder, weir, "limit: {}\n").warnings, folder);
  };
  EXPECT_THAT(source("header: Authorization"), HasSubstr("which is a credential"));
  EXPECT_THAT(source("query: access_token"), HasSubstr("which is a credential"));
  EXPECT_THAT(source("header: X-Caller-Id"), Not(HasSubstr("credential")));
}

TEST(Findings, HaveTheirPlaceApart) {
  const Folder folder;
  const LoadResult result =
      load_texts(folder, kWeir, "limit:\n  node: {total: 100}\n  caller: {default: 200}\n");
  ASSERT_FALSE(result.findings.empty());
  const Finding& first = result.findings.front();
  EXPECT_THAT(first.file, testing::EndsWith("quotas.yaml"));
  const auto child = std::find_if(result.findings.begin(), result.findings.end(),
                                  [](const Finding& one) { return one.path == "limit.caller.default"; });
  ASSERT_NE(child, result.findings.end());
  EXPECT_EQ(child->severity, Severity::warning);
  EXPECT_EQ(child->line, 3U);
  EXPECT_EQ(child->column, 21U);
}

}  // namespace
}  // namespace weir::config
