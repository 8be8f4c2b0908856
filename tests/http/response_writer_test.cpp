// SPDX-License-Identifier: Apache-2.0
#include "http/response_writer.hpp"

#include <gtest/gtest.h>

#include "http/date.hpp"
#include "http/field_filter.hpp"

namespace weir::http {
namespace {

using Persistence = ResponseWriter::Persistence;

std::string write(ResponseWriter::Client client, int status, Framing framing, std::string_view body) {
  ResponseWriter writer;
  writer.begin(client);
  writer.start(status, reason_phrase(status), "X-A: b\r\n", framing, Persistence::keep_alive);
  writer.append(body);
  writer.append("");
  writer.finish();
  writer.finish();
  return std::string(writer.pending());
}

TEST(ResponseWriter, FramesForTheClientAtHand) {
  EXPECT_EQ(write({}, 200, {BodyKind::length, 2}, "hi"),
            "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(write({}, 200, {BodyKind::chunked, 0}, "hi"),
            "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
  EXPECT_EQ(write({}, 200, {BodyKind::until_close, 0}, "hi"),
            "HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
  EXPECT_EQ(write({Method::get, 0}, 200, {BodyKind::chunked, 0}, "hi"),
            "HTTP/1.1 200 OK\r\nX-A: b\r\nConnection: close\r\n\r\nhi");
  EXPECT_EQ(write({Method::get, 0}, 200, {BodyKind::length, 2}, "hi"),
            "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi");
  EXPECT_EQ(write({}, 200, {}, ""), "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 0\r\n\r\n");
}

TEST(ResponseWriter, SendsNoBodyWhereNoneIsAllowed) {
  EXPECT_EQ(write({Method::head, 1}, 200, {BodyKind::length, 2}, "hi"),
            "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(write({Method::head, 1}, 200, {BodyKind::chunked, 0}, "hi"), "HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n");
  EXPECT_EQ(write({}, 204, {BodyKind::length, 2}, "hi"), "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n");
  EXPECT_EQ(write({}, 304, {BodyKind::length, 2}, "hi"),
            "HTTP/1.1 304 Not Modified\r\nX-A: b\r\nContent-Length: 2\r\n\r\n");
}

TEST(ResponseWriter, CountsTheBodyAndWhatWasSent) {
  ResponseWriter writer;
  writer.begin({});
  writer.start(200, "OK", "", {BodyKind::chunked, 0}, Persistence::keep_alive);
  writer.append("hello");
  EXPECT_EQ(writer.body_bytes(), 5u);
  const std::size_t all = writer.pending().size();
  writer.sent(all - 3);
  EXPECT_EQ(writer.pending(), "o\r\n");
  writer.append("x");
  EXPECT_EQ(writer.pending(), "o\r\n1\r\nx\r\n");
  writer.sent(writer.pending().size());
  EXPECT_TRUE(writer.pending().empty());
}

TEST(ResponseWriter, KeepsOfLentBytesWhatWasNotSent) {
  ResponseWriter writer;
  writer.begin({});
  writer.start(200, "OK", "", {BodyKind::length, 10}, Persistence::keep_alive);
  std::string bytes = "hello";
  writer.lend(bytes);
  EXPECT_EQ(writer.lent(), "hello");
  writer.sent(writer.pending().size() + 2);
  bytes = "-----";  // they are the lender's again
  EXPECT_EQ(writer.pending(), "llo");
  writer.lend("wor");
  writer.lend("ld");
  EXPECT_EQ(writer.pending(), "llowor");
  EXPECT_EQ(writer.lent(), "ld");
  EXPECT_FALSE(writer.all_sent());
  writer.sent(1);
  EXPECT_EQ(writer.pending(), "loworld");
  writer.finish();
  writer.sent(7);
  EXPECT_TRUE(writer.all_sent());
  EXPECT_EQ(writer.body_bytes(), 10u);
}

TEST(ResponseWriter, CopiesLentBytesOfChunks) {
  ResponseWriter writer;
  writer.begin({});
  writer.start(200, "OK", "", {BodyKind::chunked, 0}, Persistence::keep_alive);
  writer.lend("hello");
  EXPECT_TRUE(writer.lent().empty());
  EXPECT_TRUE(writer.pending().ends_with("5\r\nhello\r\n"));
}

TEST(DateLine, IsTheRfcExample) {
  EXPECT_EQ(date_line(784111777000), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  EXPECT_EQ(date_line(784111777999), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  EXPECT_EQ(date_line(784111778000), "Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
}

TEST(FieldFilter, StopsHopByHopAndNominatedFieldsOnly) {
  const Fields fields{{"Connection", "X-Mine , close,Content-Length"}, {"connection", "x-other"}};
  const FieldFilter filter(fields);
  for (const char* name : {"Connection", "keep-alive", "TE", "Upgrade", "Transfer-Encoding",
                           "Proxy-Authorization", "Proxy-Connection", "Trailer", "x-mine", "X-OTHER"}) {
    EXPECT_TRUE(filter.ends_here(Field(name, ""))) << name;
  }
  for (const char* name : {"Content-Length", "Host", "Accept", "X-Mine2", "Set-Cookie"}) {
    EXPECT_FALSE(filter.ends_here(Field(name, ""))) << name;
  }
  std::string many;
  for (int n = 0; n < 33; ++n) many += "x-" + std::to_string(n) + ",";
  EXPECT_TRUE(FieldFilter::nominations_exceed_limit(Fields{{"Connection", many}}));
}

}  // namespace
}  // namespace weir::http
