// SPDX-License-Identifier: Apache-2.0
// Text of one scalar into a value with a unit. Each function returns nullopt and says in `why` what is wrong
// and what is allowed; a bare number where a unit is needed is always an error, since guessing the unit is
// how a 60 s window becomes 60 ms.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/identity/options.hpp"
#include "weir/limit/policy.hpp"

namespace weir::config {

// Doubles, and so Lua, are exact up to here.
inline constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;

// "1000": decimal digits only, 0 .. 2^53.
std::optional<std::int64_t> parse_count(std::string_view text, std::string& why);

// "500ms", "20s", "5m", "24h", "31d". Whole numbers.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text, std::string& why);

// "512B", "64KiB", "10MiB", "1GiB" in bytes.
std::optional<std::uint64_t> parse_size(std::string_view text, std::string& why);

// "20%": 0 .. 100.
std::optional<int> parse_percent(std::string_view text, std::string& why);

// A share: "0.8" or "80%", above 0 and at most 1.
std::optional<double> parse_share(std::string_view text, std::string& why);

// "2026-12-01T00:00:00Z" or with an offset (+01:00); ms since the epoch.
std::optional<std::int64_t> parse_timestamp(std::string_view text, std::string& why);

// A rolling window ("60s") or a calendar one ("day", "month"; ms is then the longest such window).
struct Window {
  std::int64_t ms = 0;
  limit::CalendarUnit calendar = limit::CalendarUnit::none;
  bool operator==(const Window&) const = default;
};
// "60s", "day", "month". 1 s .. 31 d.
std::optional<Window> parse_window(std::string_view text, std::string& why);

// "1000/day", "10/s", "5/10s": a count per window.
struct Rate {
  std::int64_t count = 0;
  Window window;
};
std::optional<Rate> parse_rate(std::string_view text, std::string& why);

// "10.0.0.0/8", "2001:db8::/32", "192.0.2.1".
std::optional<identity::Cidr> parse_cidr(std::string_view text, std::string& why);

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
// "127.0.0.1:8080", "[::1]:8080", "backend.internal:80".
std::optional<HostPort> parse_host_port(std::string_view text, std::string& why);

bool is_loopback(const std::string& host);
bool is_address(const std::string& host);

}  // namespace weir::config
