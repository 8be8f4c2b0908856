// SPDX-License-Identifier: Apache-2.0
// The status page's files, who may ask for what, and the requests that name a counter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "admin/page_assets.hpp"
#include "admin/request_guard.hpp"
#include "admin/routes.hpp"
#include "admin/sources.hpp"

namespace weir::admin {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

AdminReply ask(const AdminRequest& request, const std::string& token = "") {
  static const AdminSource source = test::source();
  return answer(request, token, source);
}

AdminRequest browser(std::string_view target) {
  AdminRequest request;
  request.method = "GET";
  request.target = target;
  request.host = "127.0.0.1:9901";
  request.accept = "text/html,application/xhtml+xml,*/*;q=0.8";
  return request;
}

AdminRequest reset_of(std::string_view body) {
  AdminRequest request;
  request.method = "POST";
  request.target = "/counters/reset";
  request.host = "127.0.0.1:9901";
  request.content_type = "application/json";
  request.body = body;
  request.peer = "127.0.0.1:4711";
  return request;
}

TEST(Page, BrowsersGetItAndOthersTheHelp) {
  EXPECT_THAT(ask(browser("/")).body, StartsWith("<!doctype html>"));
  EXPECT_EQ(ask(browser("/")).content_type, "text/html; charset=utf-8");
  AdminRequest curl = browser("/");
  curl.accept = "*/*";
  EXPECT_THAT(ask(curl).body, StartsWith("weir admin"));
}

TEST(Page, ItsFilesAreOpenAndItsDataIsNot) {
  EXPECT_EQ(ask(browser("/"), "s3cret").status, 200);
  EXPECT_EQ(ask(browser("/page/main.js"), "s3cret").content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(ask(browser("/live"), "s3cret").status, 401);
  AdminRequest post = browser("/page/main.js");
  post.method = "POST";
  EXPECT_EQ(ask(post).status, 405);
}

TEST(Page, EveryFileItNamesIsThereAndNothingComesFromElsewhere) {
  std::set<std::string_view> paths;
  std::size_t octets = 0;
  for (const PageAsset& asset : page_assets()) {
    paths.insert(asset.path);
    octets += asset.content.size();
    EXPECT_FALSE(asset.content_type.empty()) << asset.path;
    EXPECT_THAT(asset.content, HasSubstr("SPDX-License-Identifier: Apache-2.0")) << asset.path;
    for (const std::string_view never : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                                         "eval(", "https://", " style=\"", " onclick=", "@import"}) {
      EXPECT_THAT(asset.content, Not(HasSubstr(never))) << asset.path;
    }
    for (std::size_t at = asset.content.find("from \"./"); at != asset.content.npos;
         at = asset.content.find("from \"./", at + 1)) {
      const auto name = asset.content.substr(at + 8, asset.content.find('"', at + 8) - at - 8);
      EXPECT_EQ(ask(browser("/page/" + std::string(name))).status, 200) << name;
    }
  }
  EXPECT_TRUE(paths.contains("/page/page.css"));
  EXPECT_LT(octets, 200'000U);
}

TEST(Live, TakesAPointAndNothingElse) {
  EXPECT_EQ(ask(browser("/live")).body, "{\"since\":0}");
  EXPECT_EQ(ask(browser("/live?since=17")).body, "{\"since\":17}");
  for (const std::string_view query :
       {"since=", "since=-1", "since=x", "since=1x", "since=99999999999999999999", "b=1"}) {
    EXPECT_EQ(ask(browser("/live?" + std::string(query))).status, 400) << query;
  }
}

TEST(Guard, WithoutATokenAForeignNameIsRefused) {
  for (const std::string_view host : {"evil.example:9901", "localhost.evil.example", "127.0.0.1.evil.example",
                                      "x", ":9901", "[evil]:9901", "127.0.0.1@evil"}) {
    AdminRequest request = browser("/status");
    request.host = host;
    EXPECT_EQ(ask(request).status, 421) << host;
    request.target = "/";
    EXPECT_EQ(ask(request).status, 421) << host;
    request.target = "/livez";
    EXPECT_EQ(ask(request).status, 200) << host;
  }
  for (const std::string_view host :
       {"", "127.0.0.1:9901", "localhost", "LOCALHOST:80", "[::1]:9901", "10.1.2.3"}) {
    AdminRequest request = browser("/status");
    request.host = host;
    EXPECT_EQ(ask(request).status, 200) << host;
  }
  AdminRequest named = browser("/status");
  named.host = "weir.internal:9901";
  named.authorization = "Bearer s3cret";
  EXPECT_EQ(ask(named, "s3cret").status, 200);
}

TEST(Guard, AResetOfAnotherSiteIsRefused) {
  AdminRequest request = reset_of("{\"layer\":\"user\"}");
  EXPECT_EQ(ask(request).status, 200);
  request.origin = "http://127.0.0.1:9901";
  request.fetch_site = "same-origin";
  EXPECT_EQ(ask(request).status, 200);
  for (const std::string_view origin :
       {"http://evil.example", "http://127.0.0.1:8080", "null", "http://127.0.0.1:9901.evil"}) {
    AdminRequest foreign = reset_of("{\"layer\":\"user\"}");
    foreign.origin = origin;
    EXPECT_EQ(ask(foreign).status, 403) << origin;
  }
  for (const std::string_view site : {"cross-site", "same-site", "none"}) {
    AdminRequest foreign = reset_of("{\"layer\":\"user\"}");
    foreign.fetch_site = site;
    EXPECT_EQ(ask(foreign).status, 403) << site;
  }
}

TEST(Guard, AResetIsAPostOfJson) {
  AdminRequest request = reset_of("{\"layer\":\"user\"}");
  for (const std::string_view type :
       {"", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"}) {
    request.content_type = type;
    EXPECT_EQ(ask(request).status, 415) << type;
  }
  request.content_type = "Application/JSON ; charset=utf-8";
  EXPECT_EQ(ask(request).status, 200);
  request.method = "GET";
  const AdminReply reply = ask(request);
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.allow, "POST");
  EXPECT_EQ(ask(reset_of("{\"layer\":\"user\"}"), "s3cret").status, 401);
}

TEST(Counters, TheQueryNamesOne) {
  EXPECT_EQ(ask(browser("/counters?layer=user&key=caller:a%20b&key=user:c:d&lane=exempt")).body,
            "{\"counter\":\"user exempt caller=a b user=c:d\"}");
  EXPECT_EQ(ask(browser("/counters?layer=user&key=user")).body, "{\"counter\":\"user user=~\"}");
  EXPECT_EQ(ask(browser("/counters")).body, "{\"counter\":\"\"}");
  for (const std::string_view query : {"lane=x", "key=", "key=:v", "a=b", "layer=%zz"}) {
    EXPECT_EQ(ask(browser("/counters?" + std::string(query))).status, 400) << query;
  }
}

TEST(Counters, TheBodyNamesOne) {
  std::string why;
  const auto request = parse_counter_body(
      R"({"layer":"user","lane":"exempt","key":{"caller":"<script>","user":null},"confirm":"c"})", why);
  ASSERT_TRUE(request) << why;
  EXPECT_EQ(request->layer, "user");
  EXPECT_EQ(request->lane, Lane::exempt);
  EXPECT_EQ(request->confirm, "c");
  ASSERT_EQ(request->key.size(), 2U);
  EXPECT_EQ(request->key[0].second, "<script>");
  EXPECT_EQ(request->key[1].second, std::nullopt);
  for (const std::string_view body :
       {"", "x", "[]", "{\"layer\":1}", "{\"other\":\"x\"}", "{\"key\":[]}", "{\"key\":{\"a\":1}}",
        "{\"lane\":\"x\"}", "{\"layer\":\"a\"} x", "{\"key\":{\"\":\"x\"}}"}) {
    EXPECT_FALSE(parse_counter_body(body, why)) << body;
    EXPECT_FALSE(why.empty()) << body;
    EXPECT_EQ(ask(reset_of(body)).status, 400) << body;
  }
  EXPECT_FALSE(parse_counter_body(std::string(5000, '['), why));
}

TEST(Counters, AreAbsentWhereNobodyKeepsThem) {
  AdminSource source = test::source();
  source.live = nullptr;
  source.read_counter = nullptr;
  source.reset_counter = nullptr;
  EXPECT_EQ(answer(browser("/live"), "", source).status, 404);
  EXPECT_EQ(answer(browser("/counters"), "", source).status, 404);
  EXPECT_EQ(answer(reset_of("{}"), "", source).status, 404);
}

}  // namespace
}  // namespace weir::admin
