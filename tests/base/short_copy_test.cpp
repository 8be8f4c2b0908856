// SPDX-License-Identifier: Apache-2.0
#include "base/short_copy.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

TEST(ShortCopy, copies_are_complete_at_every_length) {
  for (std::size_t size = 0; size <= 40; ++size) {
    std::string text;
    for (std::size_t n = 0; n < size; ++n) text += static_cast<char>('a' + n % 26);
    std::string out(64 + kBlock, '-');
    EXPECT_EQ(copy(out.data(), text), out.data() + size);
    EXPECT_EQ(out.substr(0, size + 1), text + '-');
    std::string padded = text + std::string(kBlock, '?');
    EXPECT_EQ(copy_blocks(out.data(), padded.data(), size), out.data() + size);
    EXPECT_EQ(out.substr(0, size), text);
  }
}

}  // namespace
}  // namespace weir
