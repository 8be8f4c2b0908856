// SPDX-License-Identifier: Apache-2.0
#include "http/response_parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::http {
namespace {

using State = ResponseParser::State;

State judge(const std::string& bytes) {
  ResponseParser parser;
  ResponseHead head;
  return parser.parse(bytes, Method::get, head);
}

TEST(ResponseParser, ReadsEveryPartAtEverySplit) {
  const std::string bytes = "HTTP/1.1 404 Not Here\r\nContent-Length: 3\r\nX-A: b\r\n\r\n";
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    ResponseParser parser;
    ResponseHead head;
    ASSERT_EQ(parser.parse(bytes.substr(0, cut), Method::get, head), State::incomplete) << cut;
    ASSERT_EQ(parser.parse(bytes, Method::get, head), State::complete) << cut;
    EXPECT_EQ(head.status, 404);
    EXPECT_EQ(head.reason, "Not Here");
    EXPECT_EQ(head.framing.length, 3u);
    EXPECT_EQ(head.find("x-a")->value, "b");
    EXPECT_TRUE(head.keep_alive);
    EXPECT_FALSE(head.bodiless);
  }
}

TEST(ResponseParser, RefusesWhatIsAmbiguousOrBroken) {
  for (const char* bytes :
       {"HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 000 X\r\n\r\n", "HTTP/1.1 600 X\r\n\r\n",
        "HTTP/1.1 2000 X\r\n\r\n", "HTTP/1.1 2x0 X\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "hello",
        "\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\nX: y\n\n", "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    EXPECT_EQ(judge(bytes), State::refused) << bytes;
  }
  EXPECT_EQ(judge("HTTP/1.1 200 OK\r\nX: " + std::string(70000, 'a') + "\r\n\r\n"), State::refused);
}

TEST(ResponseParser, KnowsHowTheBodyEnds) {
  ResponseHead head;
  const auto parse = [&head](const std::string& bytes, Method method) {
    ResponseParser parser;
    ASSERT_EQ(parser.parse(bytes, method, head), State::complete) << bytes;
  };
  parse("HTTP/1.1 200 OK\r\n\r\n", Method::get);
  EXPECT_EQ(head.framing.kind, BodyKind::until_close);
  EXPECT_FALSE(head.keep_alive);
  parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Method::get);
  EXPECT_EQ(head.framing.kind, BodyKind::chunked);
  parse("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", Method::head);
  EXPECT_TRUE(head.bodiless);
  EXPECT_EQ(head.framing.length, 7u);
  parse("HTTP/1.1 304 Not Modified\r\n\r\n", Method::get);
  EXPECT_TRUE(head.bodiless);
  EXPECT_TRUE(head.keep_alive);
  parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", Method::get);
  EXPECT_EQ(head.framing.length, 5u);
}

}  // namespace
}  // namespace weir::http
