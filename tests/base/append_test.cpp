// SPDX-License-Identifier: Apache-2.0
#include "weir/base/append.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace weir {
namespace {

TEST(Append, PutsTextsLiteralsAndNumbersOneBehindTheOther) {
  std::string out = "x";
  const std::string text = "abc";
  const char* const pointer = "pq";
  append(out, "a", text, "", pointer, std::string_view(), 12, -5L);
  EXPECT_EQ(out, "xaabcpq12-5");
}

TEST(Append, HasRoomForTheLongestNumbers) {
  std::string out;
  append(out, std::numeric_limits<std::int64_t>::min(), " ", std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(out, "-9223372036854775808 18446744073709551615");
}

TEST(Append, LeavesNothingBehindTheShortestNumbers) {
  std::string out;
  append(out, 0, 1, 2);
  EXPECT_EQ(out, "012");
  EXPECT_EQ(out.size(), 3U);
}

TEST(Digits, AreDecimalOrHexadecimal) {
  EXPECT_EQ(std::string_view(Digits<>(-17)), "-17");
  EXPECT_EQ(std::string_view(Digits<16>(std::numeric_limits<std::uint64_t>::max())), "ffffffffffffffff");
}

}  // namespace
}  // namespace weir
