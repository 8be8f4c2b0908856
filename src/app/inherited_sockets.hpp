// SPDX-License-Identifier: Apache-2.0
// Listening sockets that a service manager opened for us (socket activation, sd_listen_fds(3)): it keeps them
// through a restart, so that clients wait in the kernel's queue instead of being refused. One thread.
#pragma once

#include <string>
#include <vector>

#include "pipeline/runtime.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

class InheritedSockets {
 public:
  // Takes what LISTEN_PID and LISTEN_FDS say, if they are meant for this process.
  InheritedSockets();
  ~InheritedSockets();
  InheritedSockets(const InheritedSockets&) = delete;
  InheritedSockets& operator=(const InheritedSockets&) = delete;

  // A descriptor of the socket that listens on this address, one more at each call, the caller's to close;
  // -1: there is none, open one.
  Result<int> find(const pipeline::Listener& at);

  // Addresses of sockets that find() was never asked for: nothing would accept on them.
  std::vector<std::string> unused() const;

 private:
  struct Socket {
    int descriptor = -1;
    std::string host;  // "" if it is no TCP socket
    std::uint16_t port = 0;
    bool used = false;
  };
  std::vector<Socket> sockets_;
};

}  // namespace weir::app
