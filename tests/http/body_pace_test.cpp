// SPDX-License-Identifier: Apache-2.0
#include "http/body_pace.hpp"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(BodyPace, JudgesTheMeanOfAWholeWindow) {
  BodyPace pace;
  pace.begin(100, 10'000);
  pace.got(999);
  pace.waited(9'999);
  EXPECT_FALSE(pace.too_slow());
  EXPECT_EQ(pace.left_ms(), 1);
  pace.waited(1);
  EXPECT_TRUE(pace.too_slow());
}

TEST(BodyPace, EveryWindowCountsForItself) {
  BodyPace pace;
  pace.begin(100, 10'000);
  pace.got(1'000'000);
  pace.waited(10'000);
  EXPECT_FALSE(pace.too_slow());
  EXPECT_EQ(pace.left_ms(), 10'000);
  pace.got(1'000);
  pace.waited(10'000);
  EXPECT_FALSE(pace.too_slow());
  pace.got(10);
  pace.waited(10'000);
  EXPECT_TRUE(pace.too_slow());
}

TEST(BodyPace, APauseThatIsAllowedIsNotTooSlow) {
  BodyPace pace;
  pace.begin(100, 30'000);
  pace.waited(29'000);
  EXPECT_FALSE(pace.too_slow());
  pace.got(5'000);
  pace.waited(1'500);
  EXPECT_FALSE(pace.too_slow());
}

TEST(BodyPace, ZeroIsAnyRate) {
  BodyPace pace;
  pace.begin(0, 10'000);
  pace.waited(1'000'000);
  EXPECT_FALSE(pace.judges());
  EXPECT_FALSE(pace.too_slow());
}

}  // namespace
}  // namespace weir::http
