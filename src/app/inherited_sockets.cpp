// SPDX-License-Identifier: Apache-2.0
#include "app/inherited_sockets.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstdlib>

namespace weir::app {
namespace {

constexpr int kFirstDescriptor = 3;  // SD_LISTEN_FDS_START

long number(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? 0 : std::strtol(value, nullptr, 10);
}

}  // namespace

InheritedSockets::InheritedSockets() {
  if (number("LISTEN_PID") != ::getpid()) return;
  const long count = number("LISTEN_FDS");
  for (int descriptor = kFirstDescriptor; descriptor < kFirstDescriptor + count; ++descriptor) {
    Socket socket{descriptor, {}, 0, false};
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    boost::asio::ip::tcp::endpoint endpoint;
    auto size = static_cast<socklen_t>(endpoint.capacity());
    const bool named = ::getsockname(descriptor, endpoint.data(), &size) == 0;
    const int family = endpoint.data()->sa_family;
    if (named && (family == AF_INET || family == AF_INET6)) {
      socket.host = endpoint.address().to_string();
      socket.port = endpoint.port();
    }
    sockets_.push_back(std::move(socket));
  }
}

InheritedSockets::~InheritedSockets() {
  for (const Socket& socket : sockets_) ::close(socket.descriptor);
}

Result<int> InheritedSockets::find(const pipeline::Listener& at) {
  error_code bad;
  const auto literal = boost::asio::ip::make_address(at.host, bad);
  const std::string host = bad ? at.host : literal.to_string();
  for (Socket& socket : sockets_) {
    if (socket.host != host || socket.port != at.port) continue;
    socket.used = true;
    const int descriptor = ::fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return error_code(errno, boost::system::system_category());
    return descriptor;
  }
  return -1;
}

std::vector<std::string> InheritedSockets::unused() const {
  std::vector<std::string> out;
  for (const Socket& socket : sockets_) {
    if (socket.used) continue;
    out.push_back(socket.host.empty() ? "a socket that is not TCP"
                                      : socket.host + ':' + std::to_string(socket.port));
  }
  return out;
}

}  // namespace weir::app
