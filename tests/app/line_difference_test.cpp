// SPDX-License-Identifier: Apache-2.0
#include "app/line_difference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LineDifference, NamesWhatWentAndWhatCameByNumber) {
  EXPECT_THAT(line_difference("a\nb\nc\n", "a\nB\nc\nd\n"), ElementsAre("-2 b", "+2 B", "+4 d"));
  EXPECT_THAT(line_difference("a\nb\nc\nd\n", "b\nd\n"), ElementsAre("-1 a", "-3 c"));
  EXPECT_THAT(line_difference("b\n", "a\nb\na\n"), ElementsAre("+1 a", "+3 a"));
}

TEST(LineDifference, OfEqualAndEmptyTexts) {
  EXPECT_THAT(line_difference("a\nb", "a\nb"), IsEmpty());
  EXPECT_THAT(line_difference("", ""), IsEmpty());
  EXPECT_THAT(line_difference("", "a\n"), ElementsAre("+1 a"));
  EXPECT_THAT(line_difference("a", ""), ElementsAre("-1 a"));
}

TEST(LineDifference, RepeatedLinesAreNotShownTwice) {
  EXPECT_THAT(line_difference("x\nx\nx\n", "x\nx\n"), ElementsAre("-3 x"));
}

TEST(LineDifference, OfVeryLongTextsShowsAllOfBoth) {
  std::string before, after;
  for (int n = 0; n < 5000; ++n) {
    before += "old " + std::to_string(n) + "\n";
    after += "new " + std::to_string(n) + "\n";
  }
  const auto lines = line_difference(before, after);
  ASSERT_EQ(lines.size(), 10000U);
  EXPECT_EQ(lines.front(), "-1 old 0");
  EXPECT_EQ(lines.back(), "+5000 new 4999");
}

}  // namespace
}  // namespace weir::app
