// SPDX-License-Identifier: Apache-2.0
#include "identity/addresses.hpp"

#include <gtest/gtest.h>

#include <random>

#include "identity/heads.hpp"

namespace weir::identity {
namespace {

using test::address;
using test::block;

std::string key(std::string_view text, int v4 = 32, int v6 = 64) {
  AddressText buffer;
  return std::string(address_key(address(text), v4, v6, buffer));
}

TEST(Addresses, OneHostHasOneKey) {
  EXPECT_EQ(key("1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(key("::ffff:1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(key("::ffff:102:304"), "1.2.3.4");
  EXPECT_EQ(key("64:ff9b::102:304"), "1.2.3.4");  // the well-known NAT64 prefix
  EXPECT_EQ(key("2001:DB8::1"), key("2001:0db8:0000:0000:0000:0000:0000:0001"));
  EXPECT_EQ(key("fe80::1%eth0", 32, 128), "fe80::1");
}

TEST(Addresses, AreWrittenAsTheyAreRead) {
  AddressText buffer;
  for (int octet = 0; octet < 256; ++octet) {
    const std::string text =
        std::to_string(octet) + ".0." + std::to_string(255 - octet) + "." + std::to_string(octet);
    EXPECT_EQ(address_text(address(text), buffer), text);
  }
  EXPECT_EQ(address_text(address("::ffff:1.2.3.4"), buffer), "1.2.3.4");
  EXPECT_EQ(address_text(address("64:ff9b::102:304"), buffer), "64:ff9b::102:304");
  EXPECT_EQ(address_text(address("2001:DB8::1"), buffer), "2001:db8::1");
}

TEST(Addresses, PrefixesMakeOneKeyOfABlock) {
  EXPECT_EQ(key("2001:db8:0:1:a:b:c:d"), "2001:db8:0:1::/64");
  EXPECT_EQ(key("2001:db8:0:1:ffff::9"), "2001:db8:0:1::/64");
  EXPECT_NE(key("2001:db8:0:2::1"), key("2001:db8:0:1::1"));
  EXPECT_EQ(key("2001:db8::1", 32, 128), "2001:db8::1");
  EXPECT_EQ(key("2001:db8:abcd::1", 32, 48), "2001:db8:abcd::/48");
  EXPECT_EQ(key("10.1.2.3", 24), "10.1.2.0/24");
  EXPECT_EQ(key("10.1.2.200", 25), "10.1.2.128/25");
}

TEST(Addresses, ParsesStrictly) {
  for (const std::string_view text :
       {"", "1.2.3", "1.2.3.4.5", "01.2.3.4", "999.1.1.1", "1.2.3.4:80", "[::1]", "::1::", "g::1",
        "1.2.3.4%eth0", "::1%", "unknown", " 1.2.3.4"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
  EXPECT_FALSE(parse_address(std::string(100000, '1')));
  EXPECT_FALSE(parse_address(std::string_view("1.2.3.4\0x", 9)));
}

TEST(Addresses, ParsesBlocks) {
  std::string why;
  EXPECT_EQ(parse_cidr("10.0.0.0/8", why)->prefix, 104);
  EXPECT_EQ(parse_cidr("1.2.3.4", why)->prefix, 128);
  EXPECT_EQ(parse_cidr("2001:db8::/32", why)->prefix, 32);
  EXPECT_EQ(parse_cidr("::ffff:10.0.0.0/104", why)->prefix, 104);
  EXPECT_EQ(parse_cidr("0.0.0.0/0", why)->prefix, 96);
  for (const std::string_view text :
       {"", "x", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129"}) {
    why.clear();
    EXPECT_FALSE(parse_cidr(text, why)) << text;
    EXPECT_FALSE(why.empty()) << text;
  }
  EXPECT_FALSE(parse_cidr("10.0.0.1/8", why));
  EXPECT_NE(why.find("10.0.0.0/8"), std::string::npos) << why;
}

TEST(CidrTable, TheLongestBlockWins) {
  const std::vector<Cidr> blocks{block("10.0.0.0/8"), block("10.1.0.0/16"), block("10.1.2.3"),
                                 block("2001:db8::/32")};
  const CidrTable table(blocks);
  EXPECT_EQ(table.find(address("10.9.9.9")), std::optional<std::size_t>(0));
  EXPECT_EQ(table.find(address("10.1.9.9")), std::optional<std::size_t>(1));
  EXPECT_EQ(table.find(address("10.1.2.3")), std::optional<std::size_t>(2));
  EXPECT_EQ(table.find(address("::ffff:10.1.2.3")), std::optional<std::size_t>(2));
  EXPECT_EQ(table.find(address("2001:db8:ffff::1")), std::optional<std::size_t>(3));
  EXPECT_EQ(table.find(address("11.0.0.0")), std::nullopt);
  EXPECT_EQ(CidrTable().find(address("1.1.1.1")), std::nullopt);
}

TEST(CidrTable, AgreesWithAPlainComparison) {
  std::mt19937 random(11);
  std::vector<Cidr> blocks;
  for (int n = 0; n < 200; ++n) {
    Cidr each{{}, static_cast<int>(random() % 129)};
    for (int bit = 0; bit < each.prefix; ++bit) {
      if (random() % 8 == 0)
        each.bytes[static_cast<std::size_t>(bit / 8)] |= static_cast<std::uint8_t>(0x80U >> bit % 8);
    }
    blocks.push_back(each);
  }
  const CidrTable table(blocks);
  const auto contains = [](const Cidr& each, const std::array<std::uint8_t, 16>& bytes) {
    for (int bit = 0; bit < each.prefix; ++bit) {
      const auto at = static_cast<std::size_t>(bit / 8);
      if (((each.bytes[at] ^ bytes[at]) & (0x80U >> bit % 8)) != 0) return false;
    }
    return true;
  };
  for (int n = 0; n < 2000; ++n) {
    std::array<std::uint8_t, 16> bytes{};
    for (auto& byte : bytes) byte = random() % 4 == 0 ? static_cast<std::uint8_t>(random()) : std::uint8_t{0};
    int longest = -1;
    for (const Cidr& each : blocks) {
      if (contains(each, bytes)) longest = std::max(longest, each.prefix);
    }
    const auto found = table.find(boost::asio::ip::address_v6(bytes));
    EXPECT_EQ(found ? blocks[*found].prefix : -1, longest);
  }
}

}  // namespace
}  // namespace weir::identity
