// SPDX-License-Identifier: Apache-2.0
// The program's own log: what the gateway itself has to say, not one line per request (see access_log.hpp).
//
// One per process. Lines are handed to a thread of its own through a bounded queue that drops the oldest when
// it is full, so that no caller ever waits for a slow disk or a full pipe; drops are counted. Before
// start_log(), lines go to stderr at once. Thread-safe, never throws.
//
// `cause` is a stable dotted name of what happened ("store.timeout"), `message` the particulars. No secret
// may be in either.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::telemetry {

enum class LogLevel : std::uint8_t { debug, info, warn, error, off };
enum class LogFormat : std::uint8_t { json, plain };

struct LogSettings {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::json;
  std::string target = "stderr";  // stderr, stdout, or a file path (appended to)
};

// "debug", "info", "warn", "error", "off"; `fallback` for anything else.
LogLevel log_level_of(std::string_view name, LogLevel fallback = LogLevel::info) noexcept;

// Again: replaces what was started before. False if the file cannot be opened (then stderr is used).
bool start_log(const LogSettings& settings);
void set_log_level(LogLevel level) noexcept;
// Writes out what is queued, waiting at most five seconds, and goes back to plain stderr.
void stop_log() noexcept;

void log_line(LogLevel level, std::string_view cause, std::string_view message) noexcept;
inline void log_debug(std::string_view cause, std::string_view message) noexcept {
  log_line(LogLevel::debug, cause, message);
}
inline void log_info(std::string_view cause, std::string_view message) noexcept {
  log_line(LogLevel::info, cause, message);
}
inline void log_warn(std::string_view cause, std::string_view message) noexcept {
  log_line(LogLevel::warn, cause, message);
}
inline void log_error(std::string_view cause, std::string_view message) noexcept {
  log_line(LogLevel::error, cause, message);
}

// For what may happen a thousand times a second: one line per cause and interval, which says how many were
// left out since the one before.
void log_limited(LogLevel level, std::string_view cause, std::string_view message,
                 std::chrono::milliseconds interval = std::chrono::seconds(10)) noexcept;

// Says what is still owed about causes that fell silent. To be called every second or so.
void log_tick() noexcept;

std::uint64_t log_lines_suppressed() noexcept;
std::uint64_t log_lines_dropped() noexcept;

}  // namespace weir::telemetry
