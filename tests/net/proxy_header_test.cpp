// SPDX-License-Identifier: Apache-2.0
#include "net/proxy_header.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::net {
namespace {

using State = ProxyHeader::State;
using Source = ProxyHeader::Source;

const std::string kSignature("\r\n\r\n\0\r\nQUIT\n", 12);

std::string binary(unsigned char command, unsigned char family, const std::string& rest) {
  std::string bytes = kSignature;
  bytes += static_cast<char>(command);
  bytes += static_cast<char>(family);
  bytes += static_cast<char>(rest.size() >> 8);
  bytes += static_cast<char>(rest.size() & 0xff);
  return bytes + rest;
}

const std::string kIpv4("\xc0\x00\x02\x01\xc6\x33\x64\x07\x9c\x40\x01\xbb", 12);
const std::string kIpv6 = std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16) +
                          std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02", 16) +
                          std::string("\x9c\x40\x01\xbb", 4);
const std::string kValue("\x04\x00\x03xyz", 6);

struct Good {
  std::string bytes;
  std::string client;  // empty: the balancer speaks for itself
  int port;
};

std::vector<Good> good_headers() {
  return {
      {"PROXY TCP4 192.0.2.1 198.51.100.7 40000 443\r\n", "192.0.2.1", 40000},
      {"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255", 65535},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 0 0\r\n", "192.0.2.1", 0},
      {"PROXY TCP6 2001:db8::1 2001:db8::2 40000 443\r\n", "2001:db8::1", 40000},
      {"PROXY UNKNOWN\r\n", "", 0},
      {"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", "", 0},
      {binary(0x21, 0x11, kIpv4), "192.0.2.1", 40000},
      {binary(0x21, 0x21, kIpv6), "2001:db8::1", 40000},
      {binary(0x21, 0x11, kIpv4 + kValue), "192.0.2.1", 40000},
      {binary(0x21, 0x21, kIpv6 + kValue + kValue), "2001:db8::1", 40000},
      {binary(0x21, 0x00, ""), "", 0},
      {binary(0x21, 0x31, std::string(216, 'u')), "", 0},
      {binary(0x20, 0x00, ""), "", 0},
      {binary(0x20, 0x11, kIpv4), "", 0},
      {binary(0x20, 0x7f, kValue), "", 0},
  };
}

TEST(ProxyHeaderTest, SaysWhoseConnectionItIsAndWhereItsBytesBegin) {
  for (const Good& good : good_headers()) {
    const std::string bytes = good.bytes + "GET / HTTP/1.1\r\n";
    const ProxyHeader header = parse_proxy_header(bytes);
    ASSERT_EQ(header.state, State::complete) << good.bytes;
    EXPECT_EQ(header.size, good.bytes.size());
    EXPECT_EQ(header.source, good.client.empty() ? Source::own : Source::told);
    if (good.client.empty()) continue;
    EXPECT_EQ(header.client.address.to_string(), good.client);
    EXPECT_EQ(header.client.port, good.port);
  }
}

TEST(ProxyHeaderTest, AnyPartOfAHeaderIsIncomplete) {
  for (const Good& good : good_headers()) {
    for (std::size_t size = 0; size < good.bytes.size(); ++size) {
      EXPECT_EQ(parse_proxy_header({good.bytes.data(), size}).state, State::incomplete)
          << size << " of " << good.bytes;
    }
  }
}

TEST(ProxyHeaderTest, WhatIsNoHeaderIsRefused) {
  const std::string bad[] = {
      "GET / HTTP/1.1\r\n",
      "proxy TCP4 192.0.2.1 198.51.100.7 40000 443\r\n",
      "PROXY  TCP4 192.0.2.1 198.51.100.7 40000 443\r\n",
      "PROXY TCP4  192.0.2.1 198.51.100.7 40000 443\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.7 40000 443 \r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.7 40000\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.7 40000 65536\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.7 -1 443\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.7 040000 443\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.7 4x 443\r\n",
      "PROXY TCP4 192.0.2 198.51.100.7 40000 443\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.777 40000 443\r\n",
      "PROXY TCP4 2001:db8::1 2001:db8::2 40000 443\r\n",
      "PROXY TCP6 192.0.2.1 198.51.100.7 40000 443\r\n",
      "PROXY TCP6 fe80::1%lo fe80::2 40000 443\r\n",
      "PROXY UDP4 192.0.2.1 198.51.100.7 40000 443\r\n",
      "PROXY UNKNOWNX\r\n",
      "PROXY \r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.7 40000 443\n" + std::string(107, ' '),
      "PROXY UNKNOWN " + std::string(107, 'x') + "\r\n",
      "PROXY TCP4 " + std::string(90, '1') + " 1.1.1.1 1 1\r\n",
      binary(0x11, 0x11, kIpv4),
      binary(0x22, 0x11, kIpv4),
      binary(0x21, 0x12, kIpv4),
      binary(0x21, 0x13, kIpv4),
      binary(0x21, 0x11, kIpv4.substr(1)),
      binary(0x21, 0x21, kIpv4),
      binary(0x21, 0x11, std::string(ProxyHeader::kMaxBytes, 'x')),
      "\r\n\r\nGET / HTTP/1.1\r\n",
      "\x16\x03\x01",
  };
  for (const std::string& bytes : bad) EXPECT_EQ(parse_proxy_header(bytes).state, State::malformed) << bytes;
}

}  // namespace
}  // namespace weir::net
