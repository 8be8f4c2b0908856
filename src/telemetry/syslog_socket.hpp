// SPDX-License-Identifier: Apache-2.0
// Log lines to a syslog daemon: RFC 5424 messages, one datagram each, over a local socket or UDP (RFC 5426).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::telemetry {

// Where: "syslog" (/dev/log), "syslog:/path/to/socket", or "syslog://192.0.2.1:514",
// "syslog://[2001:db8::1]:514" (an address, not a name: nothing here ever waits for a resolver).
struct SyslogTarget {
  std::string path;  // of a local socket; "": UDP
  std::string host;
  std::uint16_t port = 0;
};

// True if the target means syslog at all; whether it is well formed, parse_syslog_target says.
bool names_syslog(std::string_view target) noexcept;
// nullopt: `why` says what is wrong and what is allowed.
std::optional<SyslogTarget> parse_syslog_target(std::string_view target, std::string& why);

// "<134>1 2026-11-30T12:34:56.789Z host weir 4711 access - " and the line: facility local0, severity info.
void append_syslog_message(std::string& out, std::int64_t wall_ms, std::string_view line);

// Single-threaded; used by a LineWriter's own thread. Connects when there is something to send, again once a
// second while the daemon is away; until then lines are lost, and counted by the caller.
class SyslogSocket {
 public:
  explicit SyslogSocket(SyslogTarget target) : target_(std::move(target)) {}
  ~SyslogSocket() { close(); }
  SyslogSocket(const SyslogSocket&) = delete;
  SyslogSocket& operator=(const SyslogSocket&) = delete;

  // Sends one message; waits at most `patience_ms` for a daemon that does not keep up. False if it is lost.
  bool send(std::string_view message, int patience_ms);

  // The next message opens a new socket.
  void close() noexcept;

 private:
  bool connect();

  SyslogTarget target_;
  int descriptor_ = -1;
  std::int64_t tried_ms_ = 0;  // when connecting failed last, on the monotonic clock
};

}  // namespace weir::telemetry
