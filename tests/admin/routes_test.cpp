// SPDX-License-Identifier: Apache-2.0
#include "admin/routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "admin/probe_query.hpp"
#include "admin/sources.hpp"

namespace weir::admin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

AdminReply get(std::string_view target, const std::string& token = "", std::string_view authorization = "",
               std::string_view method = "GET") {
  static const AdminSource source = test::source();
  return answer({method, target, authorization}, token, source);
}

TEST(AdminRoutes, ShowWhatTheSourceSays) {
  EXPECT_EQ(get("/metrics").body, "weir_up 1\n");
  EXPECT_THAT(get("/metrics").content_type, HasSubstr("version=0.0.4"));
  EXPECT_EQ(get("/status").body, "{\"node\":\"edge-1\"}");
  EXPECT_EQ(get("/status").content_type, "application/json");
  EXPECT_EQ(get("/config?x=1").body, "{}");
  EXPECT_EQ(get("/limits").body, "{\"layers\":[]}");
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
  for (const std::string_view path : {"/metrics", "/livez", "/readyz", "/status", "/config", "/explain",
                                      "/live", "/limits", "/counters", "/counters/reset"}) {
    EXPECT_THAT(get("/").body, HasSubstr(path));
    EXPECT_THAT(get("/help").body, HasSubstr(path));
  }
}

TEST(AdminRoutes, RankingsAreShownWhereKept) {
  EXPECT_EQ(get("/top").body, "{\"caller\":{}}");
  AdminSource source = test::source();
  source.top = nullptr;
  EXPECT_EQ(answer({"GET", "/top", ""}, "", source).status, 404);
}

TEST(AdminRoutes, NotReadyIs503) {
  AdminSource source = test::source();
  source.not_ready = [] { return std::string("it drains"); };
  EXPECT_EQ(answer({"GET", "/readyz", ""}, "", source).status, 503);
  EXPECT_EQ(answer({"GET", "/readyz", ""}, "", source).body, "not ready: it drains\n");
  EXPECT_EQ(answer({"GET", "/livez", ""}, "", source).status, 200);
}

TEST(AdminRoutes, OtherPathsAndMethods) {
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_EQ(get("/metrics/").status, 404);
  EXPECT_EQ(get("").status, 404);
  EXPECT_EQ(get("http://x/metrics").status, 404);
  EXPECT_EQ(get("/metrics", "", "", "POST").status, 405);
  EXPECT_EQ(get("/livez", "", "", "DELETE").status, 405);
  EXPECT_EQ(get("/metrics", "", "", "HEAD").status, 200);
}

TEST(AdminRoutes, ATokenGuardsAllButTheProbes) {
  for (const std::string_view path : {"/", "/metrics", "/status", "/config", "/explain", "/live", "/counters",
                                      "/counters/reset", "/help", "/nothing"}) {
    EXPECT_EQ(get(path, "s3cret").status, 401) << path;
    EXPECT_EQ(get(path, "s3cret", "Bearer wrong").status, 401) << path;
    EXPECT_EQ(get(path, "s3cret", "Bearer s3cre").status, 401) << path;
    EXPECT_EQ(get(path, "s3cret", "Bearer s3crets").status, 401) << path;
    EXPECT_EQ(get(path, "s3cret", "Basic s3cret").status, 401) << path;
    EXPECT_EQ(get(path, "s3cret", "s3cret").status, 401) << path;
    EXPECT_NE(get(path, "s3cret", "bearer s3cret").status, 401) << path;
  }
  EXPECT_EQ(get("/livez", "s3cret").status, 200);
  EXPECT_EQ(get("/readyz", "s3cret").status, 200);
  EXPECT_EQ(get("/metrics", "s3cret", "Bearer s3cret").status, 200);
}

TEST(AdminRoutes, ASourceThatThrowsIs500) {
  AdminSource source = test::source();
  source.status = []() -> std::string { throw std::runtime_error("secret detail"); };
  const AdminReply reply = answer({"GET", "/status", ""}, "", source);
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body, "");
}

TEST(AdminRoutes, ExplainHandsOverTheProbe) {
  EXPECT_EQ(
      get("/explain?method=POST&path=/a%3Fb%3D1&header=X-Caller-Id:%20a&header=X-User-Id:b+c&from=::1").body,
      "{\"probe\":\"POST /a?b=1 X-Caller-Id=a X-User-Id=b c ::1\"}");
  EXPECT_EQ(get("/explain").body, "{\"probe\":\"GET / 127.0.0.1\"}");
}

TEST(ProbeQuery, SaysWhatIsWrong) {
  for (const std::string_view query :
       {"path=x", "path=", "method=", "method=G%20T", "header=x", "header=:v", "header=a%20b:c",
        "from=localhost", "path=/%zz", "unknown=1", "path=/a%0d%0ab", "header=a:b%0d%0aC:d", "method"}) {
    std::string why;
    EXPECT_FALSE(parse_probe(query, why)) << query;
    EXPECT_FALSE(why.empty()) << query;
    EXPECT_EQ(get("/explain?" + std::string(query)).status, 400) << query;
  }
}

TEST(ProbeQuery, DecodesNamesAndValues) {
  std::string why;
  const auto probe = parse_probe("&he%61der=A:%20%201&&path=/x%26y", why);
  ASSERT_TRUE(probe);
  EXPECT_THAT(probe->headers, ElementsAre(Pair("A", "1")));
  EXPECT_EQ(probe->target, "/x&y");
}

TEST(ProbeQuery, ManyHeadersAreRefused) {
  std::string query;
  for (int n = 0; n < 101; ++n) query += "header=a:b&";
  std::string why;
  EXPECT_FALSE(parse_probe(query, why));
}

TEST(AdminRoutes, SurviveRandomTargets) {
  std::mt19937 random(2);
  constexpr std::string_view alphabet = "/metricsexplain?&=%0aheader:method path from#\\\x01\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string target = "/explain?";
    if (round % 2 == 0) target.clear();
    for (std::size_t n = random() % 30; n > 0; --n) target += alphabet[random() % alphabet.size()];
    const int status = get(target).status;
    EXPECT_TRUE(status == 200 || status == 400 || status == 404) << target;
  }
}

}  // namespace
}  // namespace weir::admin
