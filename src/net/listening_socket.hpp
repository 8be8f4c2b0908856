// SPDX-License-Identifier: Apache-2.0
// One worker's listening socket on an address that all workers share (SO_REUSEPORT: the kernel spreads the
// connections), and the non-blocking connect. One thread only.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "net/event_loop.hpp"
#include "net/poller.hpp"
#include "net/stream.hpp"
#include "weir/base/result.hpp"

namespace weir::net {

struct PeerAddress {
  boost::asio::ip::address address;
  std::uint16_t port = 0;
  std::string unix_path{};  // instead of both, of a unix-domain socket
};

class ListeningSocket final : public Pollable {
 public:
  // Called when connections may be waiting; the receiver calls accept() until it fails.
  struct Receiver {
    void (*call)(void* context, ListeningSocket& socket) = nullptr;
    void* context = nullptr;
  };

  // `address` is a literal. An IPv6 socket takes IPv6 only, so that both families can be listened on.
  static Result<std::unique_ptr<ListeningSocket>> open(EventLoop& loop, const std::string& address,
                                                       std::uint16_t port, Receiver receiver);
  // A socket that listens already and does not block; takes the descriptor, on an error too. Workers that
  // adopt one socket are all woken by a connection, and one of them gets it.
  static Result<std::unique_ptr<ListeningSocket>> adopt(EventLoop& loop, int descriptor, Receiver receiver);
  ~ListeningSocket() override;

  // A non-blocking descriptor with TCP_NODELAY, which the caller owns. Errors: would_block; out of
  // descriptors (EMFILE, ENFILE: the connection stays in the kernel's queue); aborted ones are skipped.
  Result<int> accept(PeerAddress& peer) noexcept;
  void call_receiver() { receiver_.call(receiver_.context, *this); }
  std::uint16_t port() const noexcept { return port_; }

 private:
  ListeningSocket(EventLoop& loop, int descriptor, std::uint16_t port, Receiver receiver) noexcept;
  void note(std::uint32_t) noexcept override {}
  void deliver() override { call_receiver(); }

  EventLoop& loop_;
  int descriptor_;
  std::uint16_t port_;
  Receiver receiver_;
};

// Begins to connect. The stream becomes writable when that has ended; ask connect_error() then.
Result<std::unique_ptr<Stream>> begin_connect(EventLoop& loop, const PeerAddress& to);

}  // namespace weir::net
