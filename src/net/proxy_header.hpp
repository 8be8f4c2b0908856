// SPDX-License-Identifier: Apache-2.0
// The PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt): what a layer-4 balancer puts in
// front of a connection's bytes to say whose connection it is. Pure. Only who is trusted may be believed.
#pragma once

#include <cstdint>
#include <span>

#include "net/listening_socket.hpp"

namespace weir::net {

struct ProxyHeader {
  static constexpr std::size_t kMaxBytes = 4096;  // with its type-length-values, which are skipped

  enum class State : std::uint8_t { incomplete, complete, malformed };
  enum class Source : std::uint8_t {
    told,  // `client` is the one who connected to the balancer
    own,   // LOCAL or UNKNOWN, or a family without addresses: the balancer speaks for itself
  };

  State state = State::incomplete;
  Source source = Source::own;
  std::size_t size = 0;  // of a complete header; the connection's own bytes follow
  PeerAddress client;
};

// `bytes`: the first of a connection. Anything but a header is malformed as soon as that is sure.
ProxyHeader parse_proxy_header(std::span<const char> bytes) noexcept;

}  // namespace weir::net
