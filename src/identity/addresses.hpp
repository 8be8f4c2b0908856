// SPDX-License-Identifier: Apache-2.0
// Internet addresses as identities: one canonical form each, prefixes, and fast membership in address blocks.
//
// Three spellings name the same host and are folded everywhere: an IPv4-mapped IPv6 address (::ffff:1.2.3.4)
// is the IPv4 address, a zone (fe80::1%eth0) is dropped, and letter case and zero compression do not matter.
// 64:ff9b::/96 (the well-known NAT64 prefix, RFC 6052) is the IPv4 address inside it when a key is made:
// otherwise every IPv4 host behind a translator would share one IPv6 /64. It is not folded for trust, since
// RFC 6052 forbids that prefix for private addresses and a block of trusted proxies must not be reached by
// it.
#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/identity/options.hpp"

namespace weir::identity {

using Address = boost::asio::ip::address;
using AddressText = std::array<char, 64>;

// Mapped addresses become IPv4, zones go.
Address plain_address(const Address& address) noexcept;

// Reads "1.2.3.4", "2001:db8::1", either with a zone; nothing else (no port, no bracket, no leading zeros in
// IPv4). The result is plain. Never allocates.
std::optional<Address> parse_address(std::string_view text) noexcept;

// "10.0.0.0/8", "2001:db8::/32", or a single address. nullopt if it is no block; `why` then says what is
// wrong. Bits beyond the prefix must be zero: 10.0.0.1/8 is more often a slip than a wish.
std::optional<Cidr> parse_cidr(std::string_view text, std::string& why);

// The text that stands for `address` as an identity: "1.2.3.4", or, for a shorter prefix,
// "2001:db8:0:1::/64". Prefixes are those of ExtractorOptions. The view points into `text`.
std::string_view address_key(const Address& address, int ipv4_prefix, int ipv6_prefix,
                             AddressText& text) noexcept;

// The address as it is: "1.2.3.4", "2001:db8::1"; mapped addresses as IPv4. The view points into `text`.
std::string_view address_text(const Address& address, AddressText& text) noexcept;

// A set of blocks that answers with the longest match. Immutable. One binary search per distinct prefix
// length.
class CidrTable {
 public:
  CidrTable() = default;
  explicit CidrTable(std::span<const Cidr> blocks);

  // Index (in the order given) of the longest block that contains the address.
  std::optional<std::size_t> find(const Address& address) const noexcept;
  bool contains(const Address& address) const noexcept { return find(address).has_value(); }

 private:
  struct Bits {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Bits&) const = default;
  };
  struct Entry {
    Bits bits;
    std::size_t index = 0;
  };
  struct Length {
    Bits mask;
    std::vector<Entry> entries;  // sorted by bits
  };
  static Bits bits_of(const std::array<std::uint8_t, 16>& bytes) noexcept;
  static Bits mask_of(int prefix) noexcept;

  std::vector<Length> lengths_;  // longest prefix first
};

}  // namespace weir::identity
