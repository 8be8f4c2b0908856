// SPDX-License-Identifier: Apache-2.0
#include "limit/key_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::limit {
namespace {

bool is_one(int byte) {
  return byte < 32 || byte == 127 || std::string(":{}%#").find(static_cast<char>(byte)) != std::string::npos;
}

// Blocks of bytes are looked at together: every length and place could be cut off wrongly.
TEST(KeyText, a_special_byte_is_seen_wherever_it_stands) {
  for (std::size_t size = 0; size <= 70; ++size) {
    const std::string plain(size, 'a');
    EXPECT_FALSE(has_special(plain)) << size;
    EXPECT_EQ(escaped_size(plain), size);
    for (std::size_t at = 0; at < size; ++at) {
      std::string text = plain;
      text[at] = ':';
      EXPECT_TRUE(has_special(text)) << at << " of " << size;
      EXPECT_EQ(escaped_size(text), size + 2);
    }
  }
}

TEST(KeyText, these_bytes_are_special_and_no_others) {
  for (const std::size_t size : {1, 3, 5, 8, 16, 17}) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string text(size, static_cast<char>(byte));
      EXPECT_EQ(has_special(text), is_one(byte)) << byte << " x " << size;
    }
  }
}

// What stands behind the text is not looked at.
TEST(KeyText, the_next_byte_does_not_count) {
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::string text = ":" + std::string(size, 'a') + ":";
    EXPECT_FALSE(has_special(std::string_view(text).substr(1, size))) << size;
  }
}

}  // namespace
}  // namespace weir::limit
