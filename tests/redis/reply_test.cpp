// SPDX-License-Identifier: Apache-2.0
#include "redis/reply.hpp"

#include <gtest/gtest.h>

#include "redis/error.hpp"
#include "redis/resp.hpp"

namespace weir::redis {
namespace {

using Progress = ReplyReader::Progress;
using Type = Reply::Type;

TEST(ReplyReader, ReadsEveryTypeHoweverTheBytesAreCut) {
  const std::string wire =
      ":-7\r\n+OK\r\n-LOADING wait\r\n$5\r\na\r\nbc\r\n$-1\r\n*3\r\n:1\r\n*1\r\n$0\r\n\r\n*0\r\n";
  for (std::size_t piece = 1; piece <= wire.size(); ++piece) {
    ReplyReader reader(1024);
    std::vector<Reply> replies;
    for (std::size_t at = 0; at < wire.size(); at += piece) {
      ASSERT_FALSE(reader.feed(std::string_view(wire).substr(at, piece)));
      Reply reply;
      while (reader.next(reply) == Progress::complete) replies.push_back(std::move(reply));
    }
    ASSERT_EQ(replies.size(), 6U) << piece;
    EXPECT_EQ(replies[0].integer, -7);
    EXPECT_EQ(replies[1].type, Type::status);
    EXPECT_EQ(replies[2].type, Type::error);
    EXPECT_EQ(replies[2].text, "LOADING wait");
    EXPECT_EQ(replies[3].text, "a\r\nbc");
    EXPECT_EQ(replies[4].type, Type::nil);
    ASSERT_EQ(replies[5].elements.size(), 3U);
    EXPECT_EQ(replies[5].elements[0].integer, 1);
    EXPECT_EQ(replies[5].elements[1].elements.at(0).text, "");
    EXPECT_EQ(replies[5].elements[2].type, Type::array);
  }
}

TEST(ReplyReader, RefusesWhatIsNotRespOrTooLarge) {
  const auto progress_of = [](std::string_view wire) {
    ReplyReader reader(4096);
    Reply reply;
    if (reader.feed(wire)) return Progress::broken;
    return reader.next(reply);
  };
  EXPECT_EQ(progress_of("HTTP/1.1 200 OK\r\n"), Progress::broken);
  EXPECT_EQ(progress_of("%1\r\n+a\r\n:1\r\n"), Progress::broken);
  EXPECT_EQ(progress_of("*1000000000\r\n"), Progress::broken);
  EXPECT_EQ(progress_of("*2147483647\r\n"), Progress::broken);
  EXPECT_EQ(progress_of(":abc\r\n"), Progress::broken);
  EXPECT_EQ(progress_of("$1048576\r\n" + std::string(5000, 'x')), Progress::broken);
  EXPECT_EQ(progress_of("$10\r\nabc"), Progress::partial);
  std::string deep;
  for (int n = 0; n < 20; ++n) deep += "*1\r\n";
  EXPECT_EQ(progress_of(deep), Progress::broken);
}

TEST(Resp, WritesRequests) {
  std::string out;
  append_command(out, {"SET", "k", ""});
  append_bulk(out, std::int64_t{-12});
  EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n$3\r\n-12\r\n");
}

}  // namespace
}  // namespace weir::redis
