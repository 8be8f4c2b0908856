// SPDX-License-Identifier: Apache-2.0
// What systemd is told of this process (sd_notify(3): datagrams to the socket that NOTIFY_SOCKET names).
// Without that variable nothing is sent. Never blocks, never fails: a service manager that does not listen is
// not our concern. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::app {

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceManager();
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // `status` is one line for `systemctl status`.
  void ready(std::string_view status) const noexcept;
  void reloading() const noexcept;  // ready() ends it
  void stopping() const noexcept;
  void alive() const noexcept;

  // Within this time alive() has to come again, or the service is restarted; 0: no watchdog.
  std::int64_t watchdog_ms() const noexcept { return watchdog_ms_; }

 private:
  void send(std::string_view lines) const noexcept;

  std::string address_;  // of the socket; empty: nobody listens
  int socket_ = -1;
  std::int64_t watchdog_ms_ = 0;
};

}  // namespace weir::app
