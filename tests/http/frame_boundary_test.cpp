// SPDX-License-Identifier: Apache-2.0
#include "http/frame_boundary.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::http {
namespace {

std::string frame(std::size_t size, bool masked) {
  std::string head = "\x82";
  const char bit = masked ? '\x80' : '\0';
  const auto octet = [size](int shift) { return static_cast<char>(std::uint64_t{size} >> shift & 0xffU); };
  if (size < 126) {
    head += static_cast<char>(static_cast<char>(size) | bit);
  } else if (size < 65536) {
    head += static_cast<char>(126 | bit);
    for (const int shift : {8, 0}) head += octet(shift);
  } else {
    head += static_cast<char>(127 | bit);
    for (const int shift : {56, 48, 40, 32, 24, 16, 8, 0}) head += octet(shift);
  }
  if (masked) head += "mask";
  return head + std::string(size, '\x82');
}

TEST(FrameBoundary, IsSeenAtEverySplit) {
  for (const std::size_t size : {0, 1, 125, 126, 127, 300, 65535, 65536}) {
    for (const bool masked : {false, true}) {
      const std::string bytes = frame(size, masked);
      for (std::size_t split = 0; split <= bytes.size(); split += 1 + (split > 20 ? bytes.size() / 7 : 0)) {
        FrameBoundary boundary;
        boundary.pass(bytes.substr(0, split));
        ASSERT_EQ(boundary.reached(), split == 0 || split == bytes.size()) << size << ' ' << split;
        boundary.pass(bytes.substr(split));
        ASSERT_TRUE(boundary.reached()) << size << ' ' << split;
      }
    }
  }
}

TEST(FrameBoundary, FollowsOneFrameAfterAnother) {
  std::string all;
  for (const std::size_t size : {3, 0, 200, 70000, 1}) all += frame(size, size % 2 == 0);
  FrameBoundary boundary;
  boundary.pass(all);
  EXPECT_TRUE(boundary.reached());
  boundary.pass("\x82");
  EXPECT_FALSE(boundary.reached());
}

TEST(FrameBoundary, GoingAwayIsAFrame) {
  FrameBoundary boundary;
  boundary.pass(kGoingAway);
  EXPECT_TRUE(boundary.reached());
  boundary.pass(kGoingAwayMasked);
  EXPECT_TRUE(boundary.reached());
}

}  // namespace
}  // namespace weir::http
