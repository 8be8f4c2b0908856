// SPDX-License-Identifier: Apache-2.0
// What loads, but is probably not what was meant: warnings and notes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "folder.hpp"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Warnings, NoneForAnOrdinaryFile) {
  EXPECT_EQ(
      quota_warnings("limit:\n  node: {total: 1000}\n  caller: {default: 500}\n  user: {default: 50}\n"), "");
}

TEST(Warnings, ExpiredOverride) {
  EXPECT_THAT(quota_warnings(
                  "limit: {caller: {default: 5, overrides: {x: {limit: 4, until: 2020-01-01T00:00:00Z}}}}"),
              HasSubstr("limit.caller.overrides.x: has expired"));
  EXPECT_EQ(quota_warnings(
                "limit: {caller: {default: 5, overrides: {x: {limit: 4, until: 2126-01-01T00:00:00Z}}}}"),
            "");
}

TEST(Warnings, ChildAboveItsParent) {
  EXPECT_THAT(quota_warnings("limit: {caller: {default: 100}, user: {default: 10, overrides: {x: 200}}}"),
              HasSubstr("limit.user.overrides.x: is more than limit.caller allows (100 in 60 s)"));
  EXPECT_THAT(quota_warnings("limit: {node: {total: 100}, caller: {default: 200}}"),
              HasSubstr("limit.caller.default: is more than limit.node allows"));
  EXPECT_THAT(
      quota_warnings("limit: {caller: {default: 100, overrides: {p: {limit: 50, user: {default: 60}}}}, "
                     "user: {default: 10}}"),
      HasSubstr("limit.caller.overrides.p.user.default: is more than limit.caller.overrides.p allows"));
  // Rates are compared, not numbers.
  EXPECT_EQ(quota_warnings("limit: {caller: {default: 100, window: 1s}, user: {default: 200, window: 60s}}"),
            "");
}

TEST(Warnings, AboveSixtyPercentOfTheCapacity) {
  EXPECT_THAT(quota_warnings("limit: {node: {capacity: 1000, total: 601}}"),
              HasSubstr("is above 60% of the capacity 1000"));
  EXPECT_EQ(quota_warnings("limit: {node: {capacity: 1000, total: 60%}}"), "");
}

TEST(Warnings, WhatNoRouteHas) {
  const Folder folder;
  const std::string weir =
      std::string(kWeir) + "routes: [{path: /a}, {path: \"GET /b/**\"}, {path: \"/c/{id}\"}]\n";
  const auto warnings = [&](const std::string& path) {
    return text_of(
        load_texts(folder, weir, "limit: {api: {default: 9, overrides: {\"" + path + "\": 5}}}").warnings,
        folder);
  };
  EXPECT_THAT(warnings("/z"), HasSubstr("limit.api.overrides./z: no route has this path"));
  EXPECT_THAT(warnings("POST /b/x"), HasSubstr("no route has this path"));
  for (const char* const known : {"/a", "GET /a", "/b/x", "/c/7", "/c/{id}", "/b/**"})
    EXPECT_EQ(warnings(known), "") << known;
}

TEST(Warnings, ARouteInsideAWiderQuotaPathIsAnApiOfItsOwn) {
  const Folder folder;
  const std::string weir = std::string(kWeir) + "routes: [{path: /order/pay}, {path: \"/**\"}]\n";
  const auto warnings = [&](const std::string& quotas) {
    return text_of(load_texts(folder, weir, quotas).warnings, folder);
  };
  EXPECT_THAT(warnings("limit: {api: {default: 9, overrides: {\"/order/**\": 5}}}"),
              HasSubstr("does not hold for the route `/order/pay`, which is more specific"));
  EXPECT_EQ(warnings("limit: {api: {default: 9, overrides: {\"/order/**\": 5, /order/pay: 6}}}"), "");
}

TEST(Warnings, UnknownClassAndUnreachableOne) {
  const Folder folder;
  const std::string weir =
      std::string(kWeir) + "classes: {billing: [\"/billing/**\"], late: [/billing/x], rest: []}\n";
  const LoadResult result =
      load_texts(folder, weir, "limit: {class: {default: 5, overrides: {biling: 3, rest: 4}}}");
  EXPECT_THAT(text_of(result.warnings, folder), HasSubstr("`biling` is no class; did you mean `billing`?"));
  EXPECT_THAT(text_of(result.warnings, folder),
              HasSubstr("`/billing/x` is never reached: the class `billing`"));
}

TEST(Warnings, OfTheGatewayItself) {
  const Folder folder;
  const auto warnings = [&](const std::string& more, const std::string& quotas = "limit: {}") {
    return text_of(load_texts(folder, std::string(kWeir) + more, quotas).warnings, folder);
  };
  EXPECT_THAT(warnings("store: {instances: 3}\n"),
              HasSubstr("store.kind: memory counts in each instance by itself"));
  EXPECT_THAT(warnings("trusted_proxies: [0.0.0.0/0]\n"), HasSubstr("trusts everyone"));
  EXPECT_THAT(warnings("", "limit: {exempt: {callers: [x]}}"),
              HasSubstr("limit.exempt.callers: never holds"));
  EXPECT_THAT(warnings("routes: [{path: /a, upstream: default}]\n"), "");
  EXPECT_THAT(warnings("store: {kind: redis, url: \"redis://h\", password: plain}\n"),
              HasSubstr("store.password: stands in the file in the clear"));
  EXPECT_THAT(warnings("store: {kind: redis, url: \"redis://h\", password: plain}\n"),
              Not(HasSubstr("plain")));
}

TEST(Warnings, SettingsWithoutEffect) {
  EXPECT_THAT(quota_warnings("limit: {api: {default: 5, priority: {/x: true}}}"),
              HasSubstr("limit.api.priority: has no effect: there is no user layer"));
  EXPECT_THAT(quota_warnings("limit: {user: {default: 5, time_zone: UTC}}"),
              HasSubstr("limit.user.time_zone: has no effect"));
  const Folder folder;
  const std::string no_tier = "upstreams: {default: {endpoints: [\"h:1\"]}}\nquotas: quotas.yaml\n";
  const LoadResult result = load_texts(folder, no_tier, "limit: {ip: {default: 5, tiers: {paid: 9}}}");
  EXPECT_THAT(text_of(result.warnings, folder), HasSubstr("limit.ip.tiers: no request has a tier"));
}

TEST(Notes, LayersThatDoNotExistAndBursts) {
  const Folder folder;
  const LoadResult result = load_texts(folder, kWeir, "limit: {user: {default: 5}}");
  EXPECT_THAT(result.notes,
              ElementsAre(HasSubstr("limit: has no layer node, caller, api; what is not declared"),
                          HasSubstr("limit.user: one window may see nearly twice the limit")));
  const LoadResult bounded = load_texts(folder, kWeir, "limit: {user: {default: 5, burst: 1}}");
  EXPECT_EQ(bounded.notes.size(), 1U);
}

TEST(Notes, NoQuotasAtAllIsAWarning) {
  const Folder folder;
  folder.write("weir.yaml", "upstreams: {default: {endpoints: [\"h:1\"]}}\n");
  const LoadResult result = load(folder / "weir.yaml");
  ASSERT_NE(result.runtime, nullptr);
  EXPECT_THAT(text_of(result.warnings, folder),
              HasSubstr("weir.yaml: quotas: is missing: nothing is limited"));
}

}  // namespace
}  // namespace weir::config
