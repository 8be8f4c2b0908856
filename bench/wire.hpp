// SPDX-License-Identifier: Apache-2.0
// What the load generators here share: a socket to a port of this machine, and where an answer ends. For a
// gateway's answers on loopback, not for the internet's: whatever they do not expect ends the program.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::bench {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// A blocking socket. Throws where nobody listens.
inline int connected_to(std::uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = loopback(port);
  if (connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    throw std::runtime_error("no connection to port " + std::to_string(port));
  send_at_once(made);
  return made;
}

struct Answer {
  int status = 0;
  std::size_t size = 0;  // octets, head and body
};

// The answer at the front of `data`, nothing while its head is incomplete. Throws without Content-Length.
inline std::optional<Answer> answer_at(std::string_view data) {
  constexpr std::string_view kLength = "\r\nContent-Length: ";  // HAProxy writes it in small letters
  const std::size_t end = data.find("\r\n\r\n");
  if (end == std::string_view::npos || data.size() < 12) return std::nullopt;
  for (std::size_t at = data.find("\r\n"); at < end; at = data.find("\r\n", at + 2)) {
    if (strncasecmp(data.data() + at, kLength.data(), kLength.size()) != 0) continue;
    const std::size_t length = std::strtoul(data.data() + at + kLength.size(), nullptr, 10);
    return Answer{.status = std::atoi(data.data() + 9), .size = end + 4 + length};
  }
  throw std::runtime_error("an answer without Content-Length");
}

}  // namespace weir::bench
