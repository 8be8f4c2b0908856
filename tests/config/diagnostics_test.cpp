// SPDX-License-Identifier: Apache-2.0
#include "config/diagnostics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace weir::config {
namespace {

using testing::ElementsAre;

TEST(Diagnostics, LinesAreSortedByPlaceAndKeptApartBySeverity) {
  Diagnostics all;
  const std::uint32_t a = all.add_file("a.yaml");
  const std::uint32_t b = all.add_file("dir/b.yaml");
  all.error({b, 1, 1}, "x", "fourth");
  all.error({a, 10, 2}, "limit.user", "third");
  all.error({a, 9, 30}, "", "second");
  all.error({a, 0, 0}, "", "first");
  all.warning({a, 1, 1}, "w", "unusual");
  EXPECT_THAT(all.lines(Severity::error),
              ElementsAre("a.yaml: first", "a.yaml:9:30: second", "a.yaml:10:2: limit.user: third",
                          "dir/b.yaml:1:1: x: fourth"));
  EXPECT_THAT(all.lines(Severity::warning), ElementsAre("a.yaml:1:1: w: unusual"));
  EXPECT_TRUE(all.failed());
  EXPECT_EQ(all.place({b, 12, 9}), "b.yaml:12:9");
}

TEST(Diagnostics, AMessageIsOneLineWhateverItQuotes) {
  Diagnostics all;
  const std::uint32_t file = all.add_file("a.yaml");
  all.error({file, 1, 1}, "li\nmit", "`127.0.0.1:\n\r\t9000\x7f` has no valid port");
  EXPECT_THAT(all.lines(Severity::error),
              ElementsAre("a.yaml:1:1: li mit: `127.0.0.1:   9000 ` has no valid port"));
}

TEST(Diagnostics, WarningsAloneFailNothing) {
  Diagnostics all;
  all.add_file("a");
  all.warning({}, "w", "unusual");
  all.note({}, "n", "by the way");
  EXPECT_FALSE(all.failed());
}

TEST(Diagnostics, AFloodIsCutAndCounted) {
  Diagnostics all;
  all.add_file("a");
  for (std::uint32_t n = 1; n <= 1000; ++n) all.error({0, n, 1}, "", "wrong");
  const std::vector<std::string> lines = all.lines(Severity::error);
  ASSERT_EQ(lines.size(), Diagnostics::kMaxLines + 1);
  EXPECT_EQ(lines.back(), "and 800 more");
}

TEST(Nearest, FindsWhatWasMeant) {
  constexpr std::array<std::string_view, 5> words{"default", "burst", "window", "overrides", "key"};
  EXPECT_EQ(nearest("defualt", words), "default");
  EXPECT_EQ(nearest("override", words), "overrides");
  EXPECT_EQ(nearest("windwo", words), "window");
  EXPECT_EQ(nearest("kye", words), "key");
  EXPECT_EQ(nearest("zzzzzz", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), words), "");
}

TEST(Words, AreJoinedAsPeopleDo) {
  constexpr std::array<std::string_view, 3> words{"a", "b", "c"};
  EXPECT_EQ(join_words(words), "a, b or c");
  EXPECT_EQ(join_words(std::span(words).first(1)), "a");
  EXPECT_EQ(join_words({}), "");
}

}  // namespace
}  // namespace weir::config
