// SPDX-License-Identifier: Apache-2.0
#include "telemetry/syslog_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "telemetry/json_line.hpp"
#include "weir/base/append.hpp"
#include "weir/base/clock.hpp"

namespace weir::telemetry {
namespace {

constexpr std::string_view kWord = "syslog";
constexpr std::string_view kDefaultPath = "/dev/log";
constexpr std::int64_t kRetryMs = 1000;
constexpr int kPriority = 16 * 8 + 6;  // local0.info

std::string host_and_process() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) name = {'-'};
  return std::string(" ") + name.data() + " weir " + std::to_string(::getpid()) + " access - ";
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<Address> local_address(const std::string& path) {
  Address out;
  auto* const local = reinterpret_cast<sockaddr_un*>(&out.storage);
  if (path.size() >= sizeof local->sun_path) return std::nullopt;
  local->sun_family = AF_UNIX;
  path.copy(local->sun_path, path.size());
  out.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return out;
}

std::optional<Address> udp_address(const std::string& host, std::uint16_t port) {
  Address out;
  auto* const four = reinterpret_cast<sockaddr_in*>(&out.storage);
  auto* const six = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (::inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    out.size = sizeof *four;
    return out;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) != 1) return std::nullopt;
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(port);
  out.size = sizeof *six;
  return out;
}

}  // namespace

bool names_syslog(std::string_view target) noexcept {
  return target == kWord || (target.starts_with(kWord) && target[kWord.size()] == ':');
}

std::optional<SyslogTarget> parse_syslog_target(std::string_view target, std::string& why) {
  constexpr std::string_view forms = "write syslog, syslog:/path/to/socket or syslog://192.0.2.1:514";
  SyslogTarget out;
  target.remove_prefix(kWord.size());
  if (target.empty()) {
    out.path = kDefaultPath;
    return out;
  }
  target.remove_prefix(1);
  if (!target.starts_with("//")) {
    out.path = target;
    if (target.starts_with('/') && local_address(out.path)) return out;
    why = "names no socket by its full path (up to 107 characters); " + std::string(forms);
    return std::nullopt;
  }
  target.remove_prefix(2);
  const std::size_t colon = target.rfind(':');
  std::string_view host = target.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  out.host = host;
  const std::string_view port = colon == target.npos ? std::string_view() : target.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  const bool good = error == std::errc() && end == port.data() + port.size() && out.port != 0;
  if (good && udp_address(out.host, out.port)) return out;
  why = "is no address with a port; " + std::string(forms);
  return std::nullopt;
}

void append_syslog_message(std::string& out, std::int64_t wall_ms, std::string_view line) {
  static const std::string origin = host_and_process();
  append(out, "<", kPriority, ">1 ");
  append_time(out, wall_ms);
  append(out, origin, line);
}

void SyslogSocket::close() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  tried_ms_ = 0;
}

bool SyslogSocket::connect() {
  const std::int64_t now = system_clock().monotonic_ms();
  if (tried_ms_ != 0 && now - tried_ms_ < kRetryMs) return false;
  tried_ms_ = now;
  const auto to =
      target_.path.empty() ? udp_address(target_.host, target_.port) : local_address(target_.path);
  if (!to) return false;
  const int made = ::socket(to->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return false;
  if (::connect(made, reinterpret_cast<const sockaddr*>(&to->storage), to->size) != 0) {
    ::close(made);
    return false;
  }
  descriptor_ = made;
  tried_ms_ = 0;
  return true;
}

bool SyslogSocket::send(std::string_view message, int patience_ms) {
  for (int attempts = 0; attempts < 2; ++attempts) {
    if (descriptor_ < 0 && !connect()) return false;
    if (::send(descriptor_, message.data(), message.size(), MSG_NOSIGNAL) >= 0) return true;
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) {
      pollfd wait{descriptor_, POLLOUT, 0};
      ::poll(&wait, 1, patience_ms);
      if (::send(descriptor_, message.data(), message.size(), MSG_NOSIGNAL) >= 0) return true;
      return false;
    }
    if (errno == EMSGSIZE) return false;
    // The daemon went away: a restarted one listens on a new socket of the same name.
    close();
  }
  return false;
}

}  // namespace weir::telemetry
