// SPDX-License-Identifier: Apache-2.0
#include "net/proxy_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace weir::net {
namespace {

using State = ProxyHeader::State;
using Source = ProxyHeader::Source;
using boost::asio::ip::address;
using boost::asio::ip::address_v4;
using boost::asio::ip::address_v6;

constexpr std::string_view kText = "PROXY ";
constexpr std::size_t kTextBytes = 107;  // the longest line of version 1, with its end
constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t kFixedBytes = 16;  // of version 2: signature, command, family, length

bool begins_like(std::string_view bytes, std::string_view start) noexcept {
  const std::size_t common = std::min(bytes.size(), start.size());
  return bytes.substr(0, common) == start.substr(0, common);
}

ProxyHeader with_state(State state) noexcept {
  ProxyHeader header;
  header.state = state;
  return header;
}

ProxyHeader own(std::size_t size) noexcept {
  ProxyHeader header;
  header.state = State::complete;
  header.size = size;
  return header;
}

ProxyHeader told(std::size_t size, const PeerAddress& client) noexcept {
  ProxyHeader header = own(size);
  header.source = Source::told;
  header.client = client;
  return header;
}

// Without leading zeros, as the specification has it.
std::optional<std::uint16_t> port_of(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (!whole || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  return port;
}

// An address of the family the header names; make_address takes only whole texts, but scopes too.
std::optional<address> address_of(std::string_view text, std::string_view family) noexcept {
  std::array<char, 64> copy{};
  if (text.empty() || text.size() >= copy.size() || text.find('%') != text.npos) return std::nullopt;
  std::memcpy(copy.data(), text.data(), text.size());
  error_code failed;
  if (family == "TCP4") {
    const address_v4 found = boost::asio::ip::make_address_v4(copy.data(), failed);
    return failed ? std::nullopt : std::optional<address>(found);
  }
  const address_v6 found = boost::asio::ip::make_address_v6(copy.data(), failed);
  return failed ? std::nullopt : std::optional<address>(found);
}

std::string_view take_word(std::string_view& rest) noexcept {
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  return word;
}

// "PROXY TCP4 192.0.2.1 198.51.100.7 40000 443\r\n"
ProxyHeader parse_text(std::string_view bytes) noexcept {
  const std::string_view window = bytes.substr(0, kTextBytes);
  const std::size_t end = window.find("\r\n");
  if (end == window.npos) {
    return with_state(window.size() == kTextBytes ? State::malformed : State::incomplete);
  }
  const std::size_t size = end + 2;
  std::string_view rest = window.substr(kText.size(), end - kText.size());
  if (rest == "UNKNOWN" || rest.starts_with("UNKNOWN ")) return own(size);
  const std::size_t spaces = static_cast<std::size_t>(std::ranges::count(rest, ' '));
  const std::string_view family = take_word(rest);
  if (spaces != 4 || (family != "TCP4" && family != "TCP6")) return with_state(State::malformed);
  const auto client = address_of(take_word(rest), family);
  const auto server = address_of(take_word(rest), family);
  const auto client_port = port_of(take_word(rest));
  const auto server_port = port_of(rest);
  if (!client || !server || !client_port || !server_port) return with_state(State::malformed);
  return told(size, {*client, *client_port});
}

std::uint16_t number_at(std::string_view bytes, std::size_t at) noexcept {
  return static_cast<std::uint16_t>((static_cast<unsigned char>(bytes[at]) << 8) |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

template <class Address>
Address address_at(std::string_view bytes, std::size_t at) noexcept {
  typename Address::bytes_type raw{};
  std::memcpy(raw.data(), bytes.data() + at, raw.size());
  return Address(raw);
}

// Signature, version and command, family, length; then addresses, ports and values that nobody needs here.
ProxyHeader parse_binary(std::string_view bytes) noexcept {
  if (bytes.size() < kFixedBytes) return with_state(State::incomplete);
  const auto command = static_cast<unsigned char>(bytes[12]);
  const auto family = static_cast<unsigned char>(bytes[13]);
  const std::size_t length = number_at(bytes, 14);
  const std::size_t size = kFixedBytes + length;
  if ((command != 0x20 && command != 0x21) || size > ProxyHeader::kMaxBytes)
    return with_state(State::malformed);
  const bool names_somebody = command == 0x21 && (family == 0x11 || family == 0x21);
  const bool unnamed = command == 0x20 || family == 0x00 || family == 0x31 || family == 0x32;
  const std::size_t least = family == 0x11 ? 12 : 36;
  if (!names_somebody && !unnamed) return with_state(State::malformed);
  if (names_somebody && length < least) return with_state(State::malformed);
  if (bytes.size() < size) return with_state(State::incomplete);
  if (unnamed) return own(size);
  if (family == 0x11) return told(size, {address_at<address_v4>(bytes, 16), number_at(bytes, 24)});
  return told(size, {address_at<address_v6>(bytes, 16), number_at(bytes, 48)});
}

}  // namespace

ProxyHeader parse_proxy_header(std::span<const char> bytes) noexcept {
  const std::string_view text(bytes.data(), bytes.size());
  if (text.empty()) return {};
  if (begins_like(text, kText)) return text.size() < kText.size() ? ProxyHeader() : parse_text(text);
  if (!begins_like(text, kSignature)) return with_state(State::malformed);
  return text.size() < kSignature.size() ? ProxyHeader() : parse_binary(text);
}

}  // namespace weir::net
