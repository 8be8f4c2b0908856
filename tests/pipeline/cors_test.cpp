// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cors.hpp"

#include <gtest/gtest.h>

namespace weir::pipeline {
namespace {

http::RequestHead preflight() {
  http::RequestHead head;
  head.method = http::Method::options;
  head.fields = {{"Origin", "https://a.example"},
                 {"Access-Control-Request-Method", "PUT"},
                 {"Access-Control-Request-Headers", "X-User-Id"}};
  return head;
}

CorsOptions allow_a() {
  CorsOptions options;
  options.origins = {"https://a.example"};
  return options;
}

TEST(Cors, APreflightNeedsOriginAndRequestedMethod) {
  EXPECT_TRUE(is_preflight(preflight()));
  auto bare = preflight();
  bare.fields = {{"Origin", "https://a.example"}, {"Access-Control-Request-Headers", "X-User-Id"}};
  EXPECT_FALSE(is_preflight(bare));
  auto get = preflight();
  get.method = http::Method::get;
  EXPECT_FALSE(is_preflight(get));
}

TEST(Cors, AnAllowedPreflightGetsMethodsAndTheHeadersItAsksFor) {
  std::string out;
  append_preflight_fields(out, preflight(), allow_a());
  EXPECT_NE(out.find("Access-Control-Allow-Origin: https://a.example\r\n"), std::string::npos);
  EXPECT_NE(out.find("Access-Control-Allow-Methods: GET, HEAD, POST"), std::string::npos);
  EXPECT_NE(out.find("Access-Control-Allow-Headers: X-User-Id\r\n"), std::string::npos);
  EXPECT_NE(out.find("Access-Control-Max-Age: 600\r\n"), std::string::npos);
}

TEST(Cors, AnotherOriginGetsNoPermission) {
  auto head = preflight();
  head.fields = {{"Origin", "https://evil.example"}, {"Access-Control-Request-Method", "PUT"}};
  std::string out;
  append_preflight_fields(out, head, allow_a());
  EXPECT_EQ(out, "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\r\n");
}

TEST(Cors, AnAnswerExposesTheFieldsOfARefusal) {
  std::string out;
  append_cors_fields(out, preflight(), allow_a());
  EXPECT_NE(out.find("Access-Control-Expose-Headers: Retry-After, RateLimit, RateLimit-Policy"),
            std::string::npos);
  EXPECT_NE(out.find("Vary: Origin\r\n"), std::string::npos);
}

TEST(Cors, NothingIsAddedWhereItIsOff) {
  std::string out;
  append_cors_fields(out, preflight(), CorsOptions());
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace weir::pipeline
