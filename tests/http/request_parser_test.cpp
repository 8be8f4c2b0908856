// SPDX-License-Identifier: Apache-2.0
#include "http/request_parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::http {
namespace {

using State = RequestParser::State;

// The status of a refusal, 200 for a good head, 0 for one that is not complete.
int judge(const std::string& bytes, const ServerOptions& options = {}) {
  RequestParser parser;
  RequestHead head;
  const State state = parser.parse(bytes, options, head);
  if (state == State::incomplete) return 0;
  return state == State::complete ? 200 : parser.refusal().status;
}

std::string get(const std::string& more_fields, const std::string& target = "/") {
  return "GET " + target + " HTTP/1.1\r\nHost: a.test\r\n" + more_fields + "\r\n";
}

TEST(RequestParser, ReadsEveryPart) {
  const std::string bytes =
      "\r\nPOST /a/b?c=d&e HTTP/1.1\r\nHost: a.test:80\r\nX-One:  two \r\ncontent-length: 12\r\n\r\nbody";
  RequestParser parser;
  RequestHead head;
  ASSERT_EQ(parser.parse(bytes, {}, head), State::complete);
  EXPECT_EQ(head.method, Method::post);
  EXPECT_EQ(head.method_text, "POST");
  EXPECT_EQ(head.target, "/a/b?c=d&e");
  EXPECT_EQ(head.path, "/a/b");
  EXPECT_EQ(head.query, "c=d&e");
  EXPECT_EQ(head.authority, "a.test:80");
  EXPECT_EQ(head.version_minor, 1);
  ASSERT_EQ(head.fields.size(), 3u);
  EXPECT_EQ(head.find("x-one")->value, "two");
  EXPECT_EQ(head.framing.kind, BodyKind::length);
  EXPECT_EQ(head.framing.length, 12u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_EQ(bytes.substr(parser.head_end()), "body");
}

TEST(RequestParser, GivesTheSameAnswerAtEverySplit) {
  const std::string good =
      "\r\nPOST /a HTTP/1.1\r\nHost: a.test\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string bad[] = {"GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n",
                             "GET / HTTP/1.1\r\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
                             std::string("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29)};
  for (std::size_t cut = 0; cut <= good.size(); ++cut) {
    RequestParser parser;
    RequestHead head;
    if (cut < good.size()) {
      ASSERT_EQ(parser.parse(good.substr(0, cut), {}, head), State::incomplete) << cut;
    }
    ASSERT_EQ(parser.parse(good, {}, head), State::complete) << cut;
    EXPECT_EQ(head.framing.kind, BodyKind::chunked);
    EXPECT_EQ(parser.head_end(), good.size());
  }
  for (const std::string& bytes : bad) {
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      RequestParser parser;
      RequestHead head;
      if (parser.parse(bytes.substr(0, cut), {}, head) == State::refused) continue;
      EXPECT_EQ(parser.parse(bytes, {}, head), State::refused) << cut << " of " << bytes;
    }
  }
}

TEST(RequestParser, OneByteAtATime) {
  const std::string bytes = get("X-A: b\r\n");
  RequestParser parser;
  RequestHead head;
  for (std::size_t n = 1; n < bytes.size(); ++n) {
    ASSERT_EQ(parser.parse(bytes.substr(0, n), {}, head), State::incomplete) << n;
  }
  EXPECT_EQ(parser.parse(bytes, {}, head), State::complete);
}

TEST(RequestParser, RefusesBrokenSyntax) {
  for (const char* bytes :
       {"GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\r\n\r\n", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n",
        " GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "GET / http/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\x02",
        "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET a HTTP/1.1\r\nHost: a\r\n\r\n", "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://u@a/x HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    EXPECT_EQ(judge(bytes), 400) << bytes;
  }
  for (const char* fields : {"X-A : b\r\n", "X A: b\r\n", ": b\r\n", "word\r\n", " X-A: b\r\n",
                             "X-A: b\r\n c\r\n", "X-A: b\rX-B: c\r\n", "X-\x01: b\r\n"}) {
    EXPECT_EQ(judge(get(fields)), 400) << fields;
  }
}

TEST(RequestParser, ALineAtItsLimitIsTheSameAtEverySplit) {
  ServerOptions options;
  options.target_bytes = 32;
  const std::string longest_method(54, 'M');
  for (std::size_t size = 30; size < 36; ++size) {
    const std::string bytes =
        longest_method + " /" + std::string(size - 1, 'a') + " HTTP/1.1\r\nHost: a.test\r\n\r\n";
    const State expected = size <= options.target_bytes ? State::complete : State::refused;
    for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
      RequestParser parser;
      RequestHead head;
      State state = parser.parse(bytes.substr(0, cut), options, head);
      if (state == State::incomplete) state = parser.parse(bytes, options, head);
      ASSERT_EQ(state, expected) << size << " cut at " << cut;
    }
  }
}

TEST(RequestParser, ChoosesTheStatusByWhatIsWrong) {
  EXPECT_EQ(judge("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(judge("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(judge("GET / HTTP/1.10\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(judge("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"), 405);
  EXPECT_EQ(judge("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n"), 405);
  EXPECT_EQ(judge(get("Expect: tea\r\nContent-Length: 1\r\n")), 417);
  EXPECT_EQ(judge(get("Content-Length: 99999999999\r\n")), 413);
  EXPECT_EQ(judge(get("", "/" + std::string(20000, 'a'))), 414);
  EXPECT_EQ(judge("GET /" + std::string(20000, 'a')), 414);  // before its end has come
  EXPECT_EQ(judge(get("X-A: " + std::string(70000, 'a') + "\r\n")), 431);
  std::string many;
  for (int n = 0; n < 101; ++n) many += "X-A: b\r\n";
  EXPECT_EQ(judge(get(many)), 431);
}

TEST(RequestParser, CountsHeaderBytesOverAllReads) {
  ServerOptions options;
  options.header_bytes = 8192;
  options.header_count = 100000;
  RequestParser parser;
  RequestHead head;
  std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\nX";
  State state = parser.parse(bytes, options, head);
  while (state == State::incomplete && bytes.size() < 100000) {
    bytes += ": t\r\nX";  // each read ends one octet into the next line
    state = parser.parse(bytes, options, head);
  }
  EXPECT_EQ(state, State::refused);
  EXPECT_EQ(parser.refusal().status, 431);
  EXPECT_LE(bytes.size(), 8192u + 16);
}

TEST(RequestParser, JudgesHost) {
  EXPECT_EQ(judge("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(judge("GET / HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"), 400);
  EXPECT_EQ(judge("GET http://b/x HTTP/1.1\r\n\r\n"), 400);
  for (const char* good : {"a", "a.test:8080", "[::1]", "[::1]:80", "127.0.0.1:1", "-", "a.", "a:"}) {
    EXPECT_TRUE(is_valid_host(good)) << good;
  }
  for (const char* bad : {"a b", "a,b", "a/b", "a:80a", "[::1", "::1", "a?b", "a#b", "u@a", "a\xe4", "[]",
                          ":80", "[::1]x", "a:1234567"}) {
    EXPECT_FALSE(is_valid_host(bad)) << bad;
  }
}

TEST(RequestParser, AnAbsoluteTargetOverrulesHost) {
  const std::string bytes = "GET http://b.test:81?q HTTP/1.1\r\nHost: a.test\r\n\r\n";
  RequestParser parser;
  RequestHead head;
  ASSERT_EQ(parser.parse(bytes, {}, head), State::complete);
  EXPECT_EQ(head.authority, "b.test:81");
  EXPECT_EQ(head.path, "/");
  EXPECT_EQ(head.query, "q");
}

TEST(RequestParser, JudgesFramingStrictly) {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const char* fields : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                             "Transfer-Encoding: gzip\r\n",
                             "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n",
                             "Transfer-Encoding: chunked, chunked\r\n",
                             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: xchunked\r\n",
                             "Transfer-Encoding: \"chunked\"\r\n",
                             "Transfer-Encoding: \x0b"
                             "chunked\r\n",
                             "Transfer-Encoding:\r\n",
                             "Content-Length: 5\r\nContent-Length: 6\r\n",
                             "Content-Length: 5, 6\r\n",
                             "Content-Length: +5\r\n",
                             "Content-Length: -5\r\n",
                             "Content-Length: 0x5\r\n",
                             "Content-Length:\r\n",
                             "Content-Length: 5 5\r\n",
                             "Content-Length: 1_0\r\n",
                             "Content-Length: 18446744073709551621\r\n",
                             "Content-Length: 9223372036854775813\r\n"}) {
    EXPECT_EQ(judge(post + fields + "\r\n"), 400) << fields;
  }
  EXPECT_EQ(judge("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(judge(post + "Transfer-Encoding: CHUNKED\r\n\r\n"), 200);
  EXPECT_EQ(judge(post + "Content-Length: 0005\r\n\r\n"), 200);
}

TEST(RequestParser, DropsUnderscoreTwinsAndKeepsOtherUnderscores) {
  const std::string bytes = get("Content_Length: 5\r\nx_forwarded-for: 6.6.6.6\r\nX_Mine: 1\r\n");
  RequestParser parser;
  RequestHead head;
  ASSERT_EQ(parser.parse(bytes, {}, head), State::complete);
  EXPECT_EQ(head.find("content_length"), nullptr);
  EXPECT_EQ(head.find("x_forwarded-for"), nullptr);
  EXPECT_NE(head.find("x_mine"), nullptr);
  EXPECT_EQ(head.framing.kind, BodyKind::none);
}

TEST(RequestParser, ReadsPersistenceAndExpectation) {
  RequestParser parser;
  RequestHead head;
  const std::string close = get("Connection: x, CLOSE\r\n");
  ASSERT_EQ(parser.parse(close, {}, head), State::complete);
  EXPECT_FALSE(head.keep_alive);
  parser.reset();
  const std::string old = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
  ASSERT_EQ(parser.parse(old, {}, head), State::complete);
  EXPECT_TRUE(head.keep_alive);
  parser.reset();
  const std::string waits = get("Expect: 100-Continue\r\nContent-Length: 3\r\n");
  ASSERT_EQ(parser.parse(waits, {}, head), State::complete);
  EXPECT_TRUE(head.expects_continue);
  parser.reset();
  const std::string bodiless = get("Expect: 100-continue\r\n");
  ASSERT_EQ(parser.parse(bodiless, {}, head), State::complete);
  EXPECT_FALSE(head.expects_continue);
}

}  // namespace
}  // namespace weir::http
