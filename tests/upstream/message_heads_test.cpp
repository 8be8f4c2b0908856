// SPDX-License-Identifier: Apache-2.0
#include "upstream/message_heads.hpp"

#include <gtest/gtest.h>

#include "upstream/error_reply.hpp"
#include "weir/http/error.hpp"

namespace weir::upstream {
namespace {

TEST(RequestHead, IsBuiltAnewFromWhatWasParsed) {
  http::RequestHead head;
  head.method_text = "POST";
  head.authority = "a.test";
  head.framing = {http::BodyKind::length, 12};
  head.fields = {{"Host", "other"},
                 {"Content-Length", "012"},
                 {"Connection", "X-Hop, Host, keep-alive"},
                 {"X-Hop", "1"},
                 {"X-User-Id", "mallory"},
                 {"Expect", "100-continue"},
                 {"Transfer-Encoding", "no"},
                 {"Accept", "*/*"},
                 {"accept", "text/*"}};
  const http::FieldNames removed{"x-user-id"};
  ForwardPlan plan;
  plan.request_target = "/a?b";
  plan.request_fields = "X-Request-Id: 1\r\n";
  plan.remove_request_fields = &removed;
  std::string out;
  append_request_head(out, head, plan, {"fallback:1", ""});
  EXPECT_EQ(out,
            "POST /a?b HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\naccept: text/*\r\nContent-Length: 12\r\n"
            "Via: 1.1 weir\r\nX-Request-Id: 1\r\n\r\n");
}

TEST(RequestHead, ChunkedStaysChunkedAndAMissingHostIsFilledIn) {
  http::RequestHead head;
  head.method_text = "GET";
  head.framing.kind = http::BodyKind::chunked;
  ForwardPlan plan;
  plan.request_target = "/";
  std::string out;
  append_request_head(out, head, plan, {"fallback:1", ""});
  EXPECT_EQ(out, "GET / HTTP/1.1\r\nHost: fallback:1\r\nTransfer-Encoding: chunked\r\nVia: 1.1 weir\r\n\r\n");
}

TEST(ResponseFields, AreFilteredAndTheCostIsTakenOut) {
  http::ResponseHead head;
  head.fields = {{"Set-Cookie", "a"}, {"Set-Cookie", "b"},     {"Connection", "close"},   {"X-Cost", "17"},
                 {"RateLimit", "x"},  {"Content-Length", "3"}, {"Date", "some other day"}};
  const http::FieldNames removed{"ratelimit"};
  ForwardPlan plan;
  plan.response_fields = "X-Request-Id: 1\r\n";
  plan.remove_response_fields = &removed;
  plan.cost_response_field = "x-cost";
  std::string out;
  const Cost cost = append_response_fields(out, head, plan, 0);
  EXPECT_EQ(out, "Set-Cookie: a\r\nSet-Cookie: b\r\nDate: some other day\r\nX-Request-Id: 1\r\n");
  EXPECT_TRUE(cost.present);
  EXPECT_EQ(cost.value, 17u);
}

TEST(ResponseFields, AnUnreadableCostIsNoCostAndAMissingDateIsAdded) {
  http::ResponseHead head;
  head.fields = {{"X-Cost", "17 apples"}};
  ForwardPlan plan;
  plan.cost_response_field = "x-cost";
  std::string out;
  EXPECT_FALSE(append_response_fields(out, head, plan, 784111777000).present);
  EXPECT_EQ(out, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
}

TEST(ErrorReply, TellsNothingOfTheInside) {
  for (const ForwardError error :
       {ForwardError::no_endpoint, ForwardError::connect_failed, ForwardError::connect_timeout,
        ForwardError::response_timeout, ForwardError::bad_response, ForwardError::reset}) {
    const ErrorReply reply(error, {}, "X-Request-Id: 1\r\n");
    EXPECT_GE(reply.status, 502);
    EXPECT_LE(reply.status, 504);
    EXPECT_TRUE(reply.field_lines.starts_with("Proxy-Status: weir; error="));
    EXPECT_TRUE(reply.field_lines.ends_with("X-Request-Id: 1\r\n"));
    EXPECT_EQ(reply.body.find("127."), std::string::npos);
    EXPECT_NE(reply.body.find("\"status\":" + std::to_string(reply.status)), std::string::npos);
  }
  EXPECT_EQ(ErrorReply(ForwardError::body_refused, http::Error::body_too_large, "").status, 413);
  EXPECT_EQ(ErrorReply(ForwardError::client_gone, {}, "").status, 0);
}

}  // namespace
}  // namespace weir::upstream
