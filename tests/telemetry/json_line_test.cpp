// SPDX-License-Identifier: Apache-2.0
#include "telemetry/json_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <random>

namespace weir::telemetry {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_json_text(out, text);
  return out;
}

TEST(JsonText, EscapesWhatWouldEndTheString) {
  EXPECT_EQ(escaped("plain"), "plain");
  EXPECT_EQ(escaped("a\"b\\c"), "a\\\"b\\\\c");
  EXPECT_EQ(escaped("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(escaped(std::string_view("\0\x1b\x7f", 3)), "\\u0000\\u001b\\u007f");
}

TEST(JsonText, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(escaped("\xff"), bad);
  EXPECT_EQ(escaped("a\xc3"), "a" + bad);
  EXPECT_EQ(escaped("\xc0\xae"), bad + bad);            // overlong
  EXPECT_EQ(escaped("\xed\xa0\x80"), bad + bad + bad);  // surrogate
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(escaped("\xe0\x80\x80"), bad + bad + bad);
}

TEST(JsonText, RandomBytesAlwaysParse) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string raw;
    for (std::size_t n = random() % 20; n > 0; --n) raw += static_cast<char>(random());
    boost::json::error_code failed;
    boost::json::parse('"' + escaped(raw) + '"', failed);
    EXPECT_FALSE(failed) << escaped(raw);
  }
}

TEST(JsonLine, BuildsOneObjectPerLine) {
  std::string out;
  const std::array<std::string_view, 2> hits{"user", "a\"i"};
  JsonLine(out)
      .time("time", 1'700'000'000'123)
      .text("a", "x\ny")
      .number("b", -5)
      .milliseconds("c", 1'002'003)
      .flag("d", true)
      .texts("e", hits)
      .texts("f", {})
      .end();
  EXPECT_EQ(out,
            "{\"time\":\"2023-11-14T22:13:20.123Z\",\"a\":\"x\\ny\",\"b\":-5,\"c\":1002.003,\"d\":true,"
            "\"e\":[\"user\",\"a\\\"i\"],\"f\":[]}\n");
}

// Whether a text is plain is looked at in words that overlap: every size, place and octet could go wrong.
TEST(JsonLine, OneOctetOfAnyKindAtAnyPlaceIsWrittenAsItShouldBe) {
  std::string out;
  for (std::size_t size = 0; size <= 40; ++size) {
    for (std::size_t at = 0; at < std::max<std::size_t>(size, 1); ++at) {
      for (int octet = 0; octet < 256; ++octet) {
        std::string text(size, 'a');
        if (size > 0) text[at] = static_cast<char>(octet);
        const std::string around = '"' + text + '"';  // the octets beside it do not count
        out.clear();
        JsonLine(out).text("a", std::string_view(around).substr(1, size)).end();
        ASSERT_EQ(out, "{\"a\":\"" + escaped(text) + "\"}\n") << octet << " at " << at << " of " << size;
      }
    }
  }
}

TEST(JsonLine, CutsLongTextOnACharactersEdge) {
  std::string text(kMaxLoggedText - 1, 'x');
  text += "\xc3\xa9 and more";
  std::string out;
  JsonLine(out).text("a", text).end();
  boost::json::error_code failed;
  const auto parsed = boost::json::parse(out, failed);
  ASSERT_FALSE(failed);
  EXPECT_EQ(parsed.at("a").as_string(), std::string(kMaxLoggedText - 1, 'x') + "\xe2\x80\xa6");
}

TEST(JsonLine, TimesBeforeTheEpochAndAcrossSeconds) {
  std::string out;
  append_time(out, -1);
  append_time(out, 999);
  append_time(out, 1000);
  EXPECT_EQ(out, "1969-12-31T23:59:59.999Z1970-01-01T00:00:00.999Z1970-01-01T00:00:01.000Z");
}

}  // namespace
}  // namespace weir::telemetry
