// SPDX-License-Identifier: Apache-2.0
#include "identity/client_address.hpp"

#include <gtest/gtest.h>

#include <random>

#include "identity/heads.hpp"

namespace weir::identity {
namespace {

using test::address;
using test::block;
using test::head_of;

const std::vector<Cidr> kProxies{block("10.0.0.0/8"), block("fd00::/8")};

std::string client(std::vector<http::Field> fields, std::string_view peer = "10.1.1.1") {
  static const CidrTable trusted(kProxies);
  return client_address(head_of("/", std::move(fields)), address(peer), trusted).to_string();
}

TEST(ClientAddress, NobodyIsBelievedUnlessTrusted) {
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6"}}, "1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6"}}, "1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(client({}), "10.1.1.1");
}

TEST(ClientAddress, TheRightmostUntrustedHopCounts) {
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6, 1.2.3.4"}}), "1.2.3.4");
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6, 1.2.3.4, 10.2.2.2"}}), "1.2.3.4");
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6,1.2.3.4 ,, 10.2.2.2 , "}}), "1.2.3.4");
  EXPECT_EQ(client({{"X-Forwarded-For", "10.3.3.3, 10.2.2.2"}}), "10.3.3.3");  // trusted all the way
  EXPECT_EQ(client({{"x-forwarded-for", "1.2.3.4"}}, "::ffff:10.1.1.1"), "1.2.3.4");
}

TEST(ClientAddress, SeveralLinesAreOneList) {
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6"}, {"Accept", "*/*"}, {"X-Forwarded-For", "1.2.3.4"}}),
            "1.2.3.4");
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6, 1.2.3.4"}, {"X-Forwarded-For", "10.2.2.2"}}), "1.2.3.4");
}

TEST(ClientAddress, UnreadableHopsEndTheWalk) {
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6, unknown"}}), "10.1.1.1");
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6, _obf, 10.2.2.2"}}), "10.2.2.2");
  EXPECT_EQ(client({{"X-Forwarded-For", ",,\"unknown\", 999.1.1.1, [::1]:x, "}}), "10.1.1.1");
  EXPECT_EQ(client({{"X-Forwarded-For", "6.6.6.6"}, {"X-Forwarded-For", "garbage"}}), "10.1.1.1");
}

TEST(ClientAddress, PortsBracketsAndZones) {
  EXPECT_EQ(client({{"X-Forwarded-For", "1.2.3.4:5678"}}), "1.2.3.4");
  EXPECT_EQ(client({{"X-Forwarded-For", "[2001:db8::1]:5678"}}), "2001:db8::1");
  EXPECT_EQ(client({{"X-Forwarded-For", "[2001:db8::1]"}}), "2001:db8::1");
  EXPECT_EQ(client({{"X-Forwarded-For", "2001:db8::1"}}), "2001:db8::1");
  EXPECT_EQ(client({{"X-Forwarded-For", "fe80::1%eth0"}}), "fe80::1");
  EXPECT_EQ(client({{"X-Forwarded-For", "::ffff:1.2.3.4"}}), "1.2.3.4");
  for (const std::string_view bad :
       {"[1.2.3.4]", "[::1", "[::1]x", "1.2.3.4:", "1.2.3.4:x", "1.2.3.4:123456"}) {
    EXPECT_FALSE(parse_hop(bad)) << bad;
  }
}

TEST(ClientAddress, ReadsForwarded) {
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6, for=1.2.3.4;proto=https;by=10.1.1.1"}}), "1.2.3.4");
  EXPECT_EQ(client({{"Forwarded", "For=\"[2001:db8:cafe::17]:4711\""}}), "2001:db8:cafe::17");
  EXPECT_EQ(client({{"Forwarded", "for=1.2.3.4, host=\"a,b\";for=10.2.2.2"}}), "1.2.3.4");
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6"}, {"Forwarded", "proto=https; for=1.2.3.4"}}), "1.2.3.4");
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6, for=unknown"}}), "10.1.1.1");
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6, for=_hidden, for=10.2.2.2"}}), "10.2.2.2");
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6, proto=http"}}), "10.1.1.1");
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6;for=7.7.7.7"}}), "10.1.1.1");
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6, for=\"1.2.3.4"}}), "10.1.1.1");  // the quote never closes
  EXPECT_EQ(client({{"Forwarded", "for=\"1.2.3\\.4\""}}), "10.1.1.1");
  EXPECT_EQ(client({{"Forwarded", "for=6.6.6.6"}, {"X-Forwarded-For", "1.2.3.4"}}), "1.2.3.4");
}

TEST(ClientAddress, WorkIsBounded) {
  std::string hops = "6.6.6.6";
  for (int n = 0; n < 10000; ++n) hops += ", 10.0.0.7";
  EXPECT_EQ(client({{"X-Forwarded-For", hops}}), "10.0.0.7");
  std::string forwarded = "for=6.6.6.6";
  for (int n = 0; n < 10000; ++n) forwarded += ", for=10.0.0.8";
  EXPECT_EQ(client({{"Forwarded", forwarded}}), "10.0.0.8");
  EXPECT_EQ(client({{"X-Forwarded-For", std::string(1 << 20, 'a')}}), "10.1.1.1");
  EXPECT_EQ(client({{"X-Forwarded-For", std::string(1 << 20, ',')}}), "10.1.1.1");
  EXPECT_EQ(client({{"Forwarded", std::string(1 << 20, '"')}}), "10.1.1.1");
}

TEST(ClientAddress, SurvivesRandomInput) {
  std::mt19937 random(3);
  constexpr std::string_view alphabet = "10.2,:[]\"\\;=for%_ \t\xff";
  for (int round = 0; round < 50000; ++round) {
    std::string value;
    for (std::size_t n = random() % 40; n > 0; --n) value += alphabet[random() % alphabet.size()];
    // Whatever it says, an address comes out, and only from a trusted peer another than the peer's own.
    EXPECT_FALSE(client({{"X-Forwarded-For", value}}).empty());
    EXPECT_FALSE(client({{"Forwarded", value}}).empty());
    EXPECT_EQ(client({{"Forwarded", value}}, "8.8.8.8"), "8.8.8.8");
  }
}

}  // namespace
}  // namespace weir::identity
