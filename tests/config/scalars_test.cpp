// SPDX-License-Identifier: Apache-2.0
#include "config/scalars.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::config {
namespace {

using limit::CalendarUnit;
using std::chrono::milliseconds;
using testing::HasSubstr;

// What a parser says of a text it refuses.
template <class Parse>
std::string fault(Parse parse, std::string_view text) {
  std::string why;
  return parse(text, why) ? "accepted" : why;
}

TEST(Count, TakesWholeNumbersUpToTwoToThe53) {
  std::string why;
  EXPECT_EQ(parse_count("0", why), 0);
  EXPECT_EQ(parse_count("100000", why), 100000);
  EXPECT_EQ(parse_count("9007199254740992", why), std::int64_t{1} << 53);
  EXPECT_EQ(fault(parse_count, "-5"), "must not be negative");
  EXPECT_EQ(fault(parse_count, "lots"), "is not a whole number");
  EXPECT_EQ(fault(parse_count, "1e3"), "is not a whole number");
  EXPECT_EQ(fault(parse_count, "1.5"), "is not a whole number");
  EXPECT_EQ(fault(parse_count, ""), "is not a whole number");
  EXPECT_EQ(fault(parse_count, "010"), "has a leading zero; write it without");
  EXPECT_EQ(fault(parse_count, "9007199254740993"), "is too large; at most 9007199254740992 (2^53)");
  EXPECT_EQ(fault(parse_count, "99999999999999999999999"), "is too large; at most 9007199254740992 (2^53)");
}

TEST(Duration, NeedsAUnit) {
  std::string why;
  EXPECT_EQ(parse_duration("500ms", why), milliseconds(500));
  EXPECT_EQ(parse_duration("20s", why), milliseconds(20'000));
  EXPECT_EQ(parse_duration("5m", why), milliseconds(300'000));
  EXPECT_EQ(parse_duration("24h", why), milliseconds(86'400'000));
  EXPECT_EQ(parse_duration("31d", why), milliseconds(2'678'400'000));
  EXPECT_EQ(fault(parse_duration, "60"), "needs a unit; write a time such as 500ms, 20s, 5m, 24h or 31d");
  EXPECT_EQ(fault(parse_duration, "60 s"),
            "has no known unit; write a time such as 500ms, 20s, 5m, 24h or 31d");
  EXPECT_EQ(fault(parse_duration, "60min"),
            "has no known unit; write a time such as 500ms, 20s, 5m, 24h or 31d");
  EXPECT_EQ(fault(parse_duration, "soon"),
            "is not a whole number; write a time such as 500ms, 20s, 5m, 24h or 31d");
  EXPECT_EQ(fault(parse_duration, "9007199254740992d"), "is too large");
}

TEST(Size, NeedsAUnit) {
  std::string why;
  EXPECT_EQ(parse_size("512B", why), 512U);
  EXPECT_EQ(parse_size("64KiB", why), 65'536U);
  EXPECT_EQ(parse_size("10MiB", why), 10'485'760U);
  EXPECT_EQ(parse_size("1GiB", why), 1'073'741'824U);
  EXPECT_EQ(fault(parse_size, "64"), "needs a unit; write a size such as 512B, 64KiB, 10MiB or 1GiB");
  EXPECT_EQ(fault(parse_size, "64KB"), "has no known unit; write a size such as 512B, 64KiB, 10MiB or 1GiB");
}

TEST(Share, IsAFractionOrAPercentage) {
  std::string why;
  EXPECT_EQ(parse_percent("20%", why), 20);
  EXPECT_EQ(parse_percent("100%", why), 100);
  EXPECT_THAT(fault(parse_percent, "101%"), HasSubstr("from 0% to 100%"));
  EXPECT_THAT(fault(parse_percent, "20"), HasSubstr("from 0% to 100%"));
  EXPECT_DOUBLE_EQ(parse_share("0.8", why).value(), 0.8);
  EXPECT_DOUBLE_EQ(parse_share("80%", why).value(), 0.8);
  EXPECT_DOUBLE_EQ(parse_share("1", why).value(), 1);
  for (const char* const wrong : {"0", "0%", "80", "1.1", "-0.5", "nan", "inf", "0.8x", ""}) {
    EXPECT_THAT(fault(parse_share, wrong), HasSubstr("is not a share")) << wrong;
  }
}

TEST(Window, RollsOrFollowsTheCalendar) {
  std::string why;
  EXPECT_EQ(parse_window("1s", why), (Window{1000, CalendarUnit::none}));
  EXPECT_EQ(parse_window("31d", why), (Window{2'678'400'000, CalendarUnit::none}));
  EXPECT_EQ(parse_window("24h", why), (Window{86'400'000, CalendarUnit::none}));
  EXPECT_EQ(parse_window("day", why), (Window{86'400'000, CalendarUnit::day}));
  EXPECT_EQ(parse_window("month", why), (Window{2'678'400'000, CalendarUnit::month}));
  EXPECT_THAT(fault(parse_window, "999ms"), HasSubstr("from 1s to 31d"));
  EXPECT_THAT(fault(parse_window, "32d"), HasSubstr("from 1s to 31d"));
  EXPECT_THAT(fault(parse_window, "60"), HasSubstr("needs a unit"));
}

TEST(RateShorthand, HasAWindowOfItsOwn) {
  std::string why;
  const auto rate = [&](std::string_view text) { return parse_rate(text, why).value(); };
  EXPECT_EQ(rate("1000/day").count, 1000);
  EXPECT_EQ(rate("1000/day").window.calendar, CalendarUnit::day);
  EXPECT_EQ(rate("3/month").window.calendar, CalendarUnit::month);
  EXPECT_EQ(rate("10/s").window.ms, 1000);
  EXPECT_EQ(rate("10/h").window.ms, 3'600'000);
  EXPECT_EQ(rate("5/10s").window.ms, 10'000);
  EXPECT_THAT(fault(parse_rate, "10/week"), HasSubstr("is not a rate"));
  EXPECT_THAT(fault(parse_rate, "10/"), HasSubstr("is not a rate"));
  EXPECT_THAT(fault(parse_rate, "x/day"), HasSubstr("whole number"));
}

TEST(Timestamp, IsRfc3339) {
  std::string why;
  EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00Z", why), 0);
  EXPECT_EQ(parse_timestamp("2026-12-01T00:00:00Z", why), 1'796'083'200'000);
  EXPECT_EQ(parse_timestamp("2026-12-01T01:00:00+01:00", why), 1'796'083'200'000);
  EXPECT_EQ(parse_timestamp("2026-11-30T19:00:00-05:00", why), 1'796'083'200'000);
  for (const char* const wrong : {"2026-12-01", "2026-13-01T00:00:00Z", "2026-12-01T00:00:00", "tomorrow",
                                  "2026-12-01T00:00:00Zx", ""}) {
    EXPECT_THAT(fault(parse_timestamp, wrong), HasSubstr("is not a point in time")) << wrong;
  }
}

TEST(CidrBlock, IsTheFirstAddressOfItsBlock) {
  std::string why;
  const auto v4 = parse_cidr("10.0.0.0/8", why);
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->prefix, 104);
  EXPECT_EQ(v4->bytes[10], 0xFF);
  EXPECT_EQ(v4->bytes[12], 10);
  EXPECT_EQ(parse_cidr("192.0.2.1", why)->prefix, 128);
  EXPECT_EQ(parse_cidr("2001:db8::/32", why)->prefix, 32);
  EXPECT_EQ(parse_cidr("0.0.0.0/0", why)->prefix, 96);
  EXPECT_THAT(fault(parse_cidr, "10.1.0.0/8"), HasSubstr("beyond its prefix"));
  for (const char* const wrong :
       {"10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "fe80::1%eth0", "x", ""}) {
    EXPECT_THAT(fault(parse_cidr, wrong), HasSubstr("is not an address block")) << wrong;
  }
}

TEST(Address, HasAHostAndAPort) {
  std::string why;
  EXPECT_EQ(parse_host_port("127.0.0.1:8080", why)->port, 8080);
  EXPECT_EQ(parse_host_port("[::1]:80", why)->host, "::1");
  EXPECT_EQ(parse_host_port("backend.internal:9000", why)->host, "backend.internal");
  for (const char* const wrong :
       {"8080", ":8080", "host", "::1:80", "a b:80", "http://x:80", "user@host:80", "[]:1"}) {
    EXPECT_NE(fault(parse_host_port, wrong), "accepted") << wrong;
  }
  EXPECT_THAT(fault(parse_host_port, "h:0"), HasSubstr("1 to 65535"));
  EXPECT_THAT(fault(parse_host_port, "h:65536"), HasSubstr("1 to 65535"));
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_FALSE(is_loopback("localhost"));
}

}  // namespace
}  // namespace weir::config
