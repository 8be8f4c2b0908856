// SPDX-License-Identifier: Apache-2.0
#include "app/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>

namespace weir::app {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

ServiceManager::ServiceManager() : address_(environment("NOTIFY_SOCKET")) {
  if (address_.empty() || address_.size() >= sizeof(sockaddr_un::sun_path)) return;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const std::string_view pid = environment("WATCHDOG_PID");
  if (pid.empty() || number(pid) == ::getpid()) watchdog_ms_ = number(environment("WATCHDOG_USEC")) / 1000;
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::send(std::string_view lines) const noexcept {
  if (socket_ < 0) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::ranges::copy(address_, to.sun_path);
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';  // an abstract name
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  ::sendto(socket_, lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&to), size);
}

void ServiceManager::ready(std::string_view status) const noexcept {
  std::string lines("READY=1\nSTATUS=");
  send(lines += status);
}

void ServiceManager::reloading() const noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::string lines("RELOADING=1\nMONOTONIC_USEC=");
  send(lines += std::to_string(now.tv_sec * 1'000'000 + now.tv_nsec / 1000));
}

void ServiceManager::stopping() const noexcept {
  send("STOPPING=1\nSTATUS=finishing what runs");
}

void ServiceManager::alive() const noexcept {
  send("WATCHDOG=1");
}

}  // namespace weir::app
