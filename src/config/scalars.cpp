// SPDX-License-Identifier: Apache-2.0
#include "config/scalars.hpp"

#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <span>

namespace weir::config {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array<Unit, 5> kTimeUnits{
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr std::array<Unit, 4> kSizeUnits{{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}};
constexpr std::string_view kDigits = "0123456789";

struct Quantity {
  std::int64_t number = 0;
  std::string_view unit;
};

// Digits, then whatever follows.
std::optional<Quantity> split(std::string_view text, std::string& why) {
  const std::size_t end = std::min(text.find_first_not_of(kDigits), text.size());
  Quantity out;
  out.unit = text.substr(end);
  const std::from_chars_result read = std::from_chars(text.data(), text.data() + end, out.number);
  if (end == 0) {
    why = text.starts_with('-') ? "must not be negative" : "is not a whole number";
    return std::nullopt;
  }
  if (read.ec != std::errc{} || out.number > kMaxExact) {
    why = "is too large; at most 9007199254740992 (2^53)";
    return std::nullopt;
  }
  if (end > 1 && text[0] == '0') {
    why = "has a leading zero; write it without";
    return std::nullopt;
  }
  return out;
}

std::optional<std::int64_t> with_unit(std::string_view text, std::span<const Unit> units,
                                      std::string_view allowed, std::string& why) {
  const std::optional<Quantity> quantity = split(text, why);
  if (!quantity) {
    why += "; " + std::string(allowed);
    return std::nullopt;
  }
  for (const Unit& unit : units) {
    if (unit.name != quantity->unit) continue;
    if (quantity->number <= kMaxExact / unit.factor) return quantity->number * unit.factor;
    why = "is too large";
    return std::nullopt;
  }
  why = quantity->unit.empty() ? "needs a unit; " : "has no known unit; ";
  why += allowed;
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_count(std::string_view text, std::string& why) {
  const std::optional<Quantity> quantity = split(text, why);
  if (quantity && quantity->unit.empty()) return quantity->number;
  if (quantity) why = "is not a whole number";
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text, std::string& why) {
  const auto ms = with_unit(text, kTimeUnits, "write a time such as 500ms, 20s, 5m, 24h or 31d", why);
  if (!ms) return std::nullopt;
  return std::chrono::milliseconds(*ms);
}

std::optional<std::uint64_t> parse_size(std::string_view text, std::string& why) {
  const auto bytes = with_unit(text, kSizeUnits, "write a size such as 512B, 64KiB, 10MiB or 1GiB", why);
  if (!bytes) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::optional<int> parse_percent(std::string_view text, std::string& why) {
  const std::optional<Quantity> quantity = split(text, why);
  if (quantity && quantity->unit == "%" && quantity->number <= 100) return static_cast<int>(quantity->number);
  why = "is not a percentage; write one from 0% to 100%";
  return std::nullopt;
}

std::optional<double> parse_share(std::string_view text, std::string& why) {
  why = "is not a share; write one such as 0.8 or 80%, above 0 and at most 1";
  double value = 0;
  if (text.ends_with('%')) {
    std::string ignored;
    value = parse_percent(text, ignored).value_or(0) / 100.0;
  } else {
    const std::from_chars_result read =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  }
  if (!(value > 0 && value <= 1)) return std::nullopt;
  return value;
}

std::optional<Window> parse_window(std::string_view text, std::string& why) {
  constexpr std::int64_t day = 86'400'000;
  if (text == "day") return Window{day, limit::CalendarUnit::day};
  if (text == "month") return Window{31 * day, limit::CalendarUnit::month};
  const std::optional<std::chrono::milliseconds> length = parse_duration(text, why);
  if (!length) {
    why += ", or day or month";
    return std::nullopt;
  }
  if (length->count() >= 1000 && length->count() <= 31 * day) return Window{length->count()};
  why = "is out of range; a window lasts from 1s to 31d";
  return std::nullopt;
}

std::optional<Rate> parse_rate(std::string_view text, std::string& why) {
  const std::size_t slash = text.find('/');
  Rate rate;
  const std::optional<std::int64_t> count = parse_count(text.substr(0, slash), why);
  if (!count || slash == std::string_view::npos) return std::nullopt;
  rate.count = *count;
  std::string window(text.substr(slash + 1));
  if (window.find_first_of(kDigits) != 0 && window != "day" && window != "month") window.insert(0, "1");
  const std::optional<Window> parsed = parse_window(window, why);
  if (!parsed) {
    why = "is not a rate; write one such as 10/s, 100/5m, 1000/day or 30000/month";
    return std::nullopt;
  }
  rate.window = *parsed;
  return rate;
}

std::optional<identity::Cidr> parse_cidr(std::string_view text, std::string& why) {
  const std::size_t slash = text.find('/');
  boost::system::error_code failure;
  const auto address = boost::asio::ip::make_address(std::string(text.substr(0, slash)), failure);
  why = "is not an address block; write one such as 10.0.0.0/8 or 2001:db8::/32";
  if (failure || (address.is_v6() && address.to_v6().scope_id() != 0)) return std::nullopt;
  const int widest = address.is_v4() ? 32 : 128;
  int prefix = widest;
  if (slash != std::string_view::npos) {
    std::string ignored;
    const std::optional<std::int64_t> written = parse_count(text.substr(slash + 1), ignored);
    if (!written || *written > widest) return std::nullopt;
    prefix = static_cast<int>(*written);
  }
  identity::Cidr block;
  const auto mapped = address.is_v4()
                          ? boost::asio::ip::make_address_v6(boost::asio::ip::v4_mapped, address.to_v4())
                          : address.to_v6();
  block.bytes = mapped.to_bytes();
  block.prefix = prefix + (128 - widest);
  for (int bit = block.prefix; bit < 128; ++bit) {
    const std::size_t index = static_cast<std::size_t>(bit) / 8;
    if ((block.bytes[index] & (0x80 >> (bit % 8))) == 0) continue;
    why = "has bits set beyond its prefix; write the first address of the block";
    return std::nullopt;
  }
  return block;
}

std::optional<HostPort> parse_host_port(std::string_view text, std::string& why) {
  why = "is not an address with a port; write one such as 127.0.0.1:8080 or [::1]:8080";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!bracketed && host.find(':') != std::string_view::npos)) return std::nullopt;
  if (host.find_first_of(" /@[]") != std::string_view::npos) return std::nullopt;
  std::string ignored;
  const std::optional<std::int64_t> port = parse_count(text.substr(colon + 1), ignored);
  if (!port || *port < 1 || *port > 65535) {
    why = "has no valid port; ports go from 1 to 65535";
    return std::nullopt;
  }
  return HostPort{std::string(host), static_cast<std::uint16_t>(*port)};
}

bool is_address(const std::string& host) {
  boost::system::error_code failure;
  boost::asio::ip::make_address(host, failure);
  return !failure;
}

bool is_loopback(const std::string& host) {
  boost::system::error_code failure;
  const auto address = boost::asio::ip::make_address(host, failure);
  return !failure && address.is_loopback();
}

}  // namespace weir::config
