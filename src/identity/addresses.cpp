// SPDX-License-Identifier: Apache-2.0
#include "identity/addresses.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

namespace weir::identity {
namespace {

using boost::asio::ip::address_v4;
using boost::asio::ip::address_v6;

using Bytes = std::array<std::uint8_t, 16>;

constexpr Bytes kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr Bytes kNat64Prefix{0x00, 0x64, 0xff, 0x9b};
constexpr std::size_t kPrefixBytes = 12;

Bytes mapped_bytes(const Address& address) noexcept {
  if (address.is_v6()) return address.to_v6().to_bytes();
  Bytes bytes = kMappedPrefix;
  const auto four = address.to_v4().to_bytes();
  std::copy(four.begin(), four.end(), bytes.begin() + kPrefixBytes);
  return bytes;
}

bool starts_with(const Bytes& bytes, const Bytes& prefix) noexcept {
  return std::memcmp(bytes.data(), prefix.data(), kPrefixBytes) == 0;
}

Address embedded_v4(const Bytes& bytes) noexcept {
  address_v4::bytes_type four{};
  std::copy(bytes.begin() + kPrefixBytes, bytes.end(), four.begin());
  return address_v4(four);
}

// Clears every bit beyond `prefix`; true if any was set.
template <std::size_t N>
bool mask_bytes(std::array<std::uint8_t, N>& bytes, int prefix) noexcept {
  bool cleared = false;
  for (std::size_t n = 0; n < N; ++n) {
    const int kept = std::clamp(prefix - static_cast<int>(n) * 8, 0, 8);
    const auto mask = static_cast<std::uint8_t>(0xff00U >> kept);
    cleared = cleared || (bytes[n] & static_cast<std::uint8_t>(~mask)) != 0;
    bytes[n] &= mask;
  }
  return cleared;
}

// An octet in decimal, and the dot behind it.
struct OctetText {
  std::array<char, 4> text;
  std::uint8_t size;
};
constexpr std::array<OctetText, 256> kOctetTexts = [] {
  std::array<OctetText, 256> table{};
  for (std::size_t octet = 0; octet < table.size(); ++octet) {
    auto& [text, size] = table[octet];
    if (octet >= 100) text[size++] = static_cast<char>('0' + octet / 100);
    if (octet >= 10) text[size++] = static_cast<char>('0' + octet / 10 % 10);
    text[size++] = static_cast<char>('0' + octet % 10);
    text[size++] = '.';
  }
  return table;
}();

// inet_ntop goes through the printf family: 200 ns, thrice a request.
std::size_t write_text(const address_v4::bytes_type& bytes, AddressText& text) noexcept {
  char* end = text.data();
  for (const std::uint8_t byte : bytes) {
    const OctetText& octet = kOctetTexts[byte];
    std::memcpy(end, octet.text.data(), octet.text.size());
    end += octet.size;
  }
  return static_cast<std::size_t>(end - text.data()) - 1;  // no dot behind the last
}

std::size_t write_text(const Bytes& bytes, AddressText& text) noexcept {
  inet_ntop(AF_INET6, bytes.data(), text.data(), static_cast<socklen_t>(text.size()));
  return std::strlen(text.data());
}

}  // namespace

Address plain_address(const Address& address) noexcept {
  if (address.is_v4()) return address;
  const Bytes bytes = address.to_v6().to_bytes();
  if (starts_with(bytes, kMappedPrefix)) return embedded_v4(bytes);
  return address_v6(bytes);
}

std::optional<Address> parse_address(std::string_view text) noexcept {
  if (const auto zone = text.find('%'); zone != text.npos) {
    // A zone belongs to IPv6 only, and an empty one is no zone.
    if (zone + 1 == text.size() || text.find(':') > zone) return std::nullopt;
    text = text.substr(0, zone);
  }
  std::array<char, INET6_ADDRSTRLEN + 1> buffer{};
  if (text.empty() || text.size() >= buffer.size()) return std::nullopt;
  if (text.find('\0') != text.npos) return std::nullopt;
  std::copy(text.begin(), text.end(), buffer.begin());

  if (text.find(':') != text.npos) {
    Bytes bytes{};
    if (inet_pton(AF_INET6, buffer.data(), bytes.data()) != 1) return std::nullopt;
    return plain_address(address_v6(bytes));
  }
  address_v4::bytes_type bytes{};
  if (inet_pton(AF_INET, buffer.data(), bytes.data()) != 1) return std::nullopt;
  return address_v4(bytes);
}

std::optional<Cidr> parse_cidr(std::string_view text, std::string& why) {
  const auto slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address || text.find('%') != text.npos) {
    why = "not an address or a block such as 10.0.0.0/8";
    return std::nullopt;
  }
  const bool mapped = address->is_v4() && text.find(':') != text.npos;
  const int width = address->is_v4() && !mapped ? 32 : 128;
  int prefix = width;
  if (slash != text.npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
    if (error != std::errc() || end != digits.data() + digits.size() || prefix < 0 || prefix > width) {
      why = "the prefix length must be 0 to " + std::to_string(width);
      return std::nullopt;
    }
  }
  Cidr block{mapped_bytes(*address), prefix + (128 - width)};
  if (mask_bytes(block.bytes, block.prefix)) {
    AddressText masked{};
    const auto net = plain_address(address_v6(block.bytes));
    why = "has bits set beyond its prefix; the block is ";
    why += address_key(net, 32, 128, masked);
    why += '/' + std::to_string(prefix);
    return std::nullopt;
  }
  return block;
}

std::string_view address_key(const Address& address, int ipv4_prefix, int ipv6_prefix,
                             AddressText& text) noexcept {
  Address plain = plain_address(address);
  if (plain.is_v6()) {
    const Bytes bytes = plain.to_v6().to_bytes();
    if (starts_with(bytes, kNat64Prefix)) plain = embedded_v4(bytes);
  }
  const bool four = plain.is_v4();
  const int prefix = four ? ipv4_prefix : ipv6_prefix;
  std::size_t size = 0;
  if (four) {
    auto bytes = plain.to_v4().to_bytes();
    if (prefix < 32) mask_bytes(bytes, prefix);
    size = write_text(bytes, text);
  } else {
    auto bytes = plain.to_v6().to_bytes();
    mask_bytes(bytes, prefix);
    size = write_text(bytes, text);
  }
  if (prefix < (four ? 32 : 128)) {
    text[size++] = '/';
    size = static_cast<std::size_t>(std::to_chars(text.data() + size, text.data() + text.size(), prefix).ptr -
                                    text.data());
  }
  return {text.data(), size};
}

std::string_view address_text(const Address& address, AddressText& text) noexcept {
  const Address plain = plain_address(address);
  const std::size_t size =
      plain.is_v4() ? write_text(plain.to_v4().to_bytes(), text) : write_text(plain.to_v6().to_bytes(), text);
  return {text.data(), size};
}

CidrTable::Bits CidrTable::bits_of(const std::array<std::uint8_t, 16>& bytes) noexcept {
  Bits bits;
  for (std::size_t n = 0; n < 8; ++n) {
    bits.high = bits.high << 8 | bytes[n];
    bits.low = bits.low << 8 | bytes[n + 8];
  }
  return bits;
}

CidrTable::Bits CidrTable::mask_of(int prefix) noexcept {
  Bytes bytes;
  bytes.fill(0xff);
  mask_bytes(bytes, prefix);
  return bits_of(bytes);
}

CidrTable::CidrTable(std::span<const Cidr> blocks) {
  std::map<int, Length, std::greater<>> by_length;
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    Length& length = by_length[blocks[n].prefix];
    length.mask = mask_of(blocks[n].prefix);
    const Bits bits = bits_of(blocks[n].bytes);
    length.entries.push_back({{bits.high & length.mask.high, bits.low & length.mask.low}, n});
  }
  for (auto& [prefix, length] : by_length) {
    std::sort(length.entries.begin(), length.entries.end(), [](const Entry& a, const Entry& b) {
      return a.bits == b.bits ? a.index < b.index : a.bits < b.bits;
    });
    lengths_.push_back(std::move(length));
  }
}

std::optional<std::size_t> CidrTable::find(const Address& address) const noexcept {
  if (lengths_.empty()) return std::nullopt;
  const Bits whole = bits_of(mapped_bytes(address));
  for (const Length& length : lengths_) {
    const Bits bits{whole.high & length.mask.high, whole.low & length.mask.low};
    const auto at = std::lower_bound(length.entries.begin(), length.entries.end(), bits,
                                     [](const Entry& entry, const Bits& b) { return entry.bits < b; });
    if (at != length.entries.end() && at->bits == bits) return at->index;
  }
  return std::nullopt;
}

}  // namespace weir::identity
