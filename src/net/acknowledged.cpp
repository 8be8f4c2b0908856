// SPDX-License-Identifier: Apache-2.0
#include "net/acknowledged.hpp"

// The kernel's own header: the C library's tcp_info, which Asio brings everywhere else, ends before the
// field.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace weir::net {

std::optional<std::uint64_t> acknowledged_bytes(int descriptor) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info.tcpi_bytes_acked;
}

}  // namespace weir::net
