// SPDX-License-Identifier: Apache-2.0
// The addresses behind a host name. Literals (and "unix:/path") are known at once; names are looked up off
// the loop (getaddrinfo on Asio's resolver thread), kept, and looked up again while they are in use. A failed
// look-up keeps the last good answer. One thread only.
#pragma once

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/event_loop.hpp"
#include "net/listening_socket.hpp"
#include "net/waiter.hpp"

namespace weir::net {

class ResolvedName {
 public:
  static constexpr std::int64_t kFreshMs = 30000;  // older answers are looked up again when next asked for
  static constexpr std::int64_t kRetryMs = 1000;   // after a failed look-up, not sooner than that

  ResolvedName(EventLoop& loop, std::string host, std::uint16_t port);
  ~ResolvedName();

  // The address to try next (they take turns), or nullptr while none is known. Starts a look-up when due.
  const PeerAddress* next();
  std::size_t count() const noexcept;  // of the addresses known
  // Waits until the first look-up has ended, at most until `deadline_ms`.
  boost::asio::awaitable<void> wait_for_first(std::int64_t deadline_ms);
  // The address did not answer: look the name up again soon.
  void complain() noexcept { due_ms_ = std::min(due_ms_, tried_ms_ + kRetryMs); }

 private:
  struct Shared;  // outlives this object while a look-up runs
  void look_up();

  EventLoop& loop_;
  std::string host_;
  std::uint16_t port_;
  std::shared_ptr<Shared> shared_;
  bool literal_ = false;
  std::size_t turn_ = 0;
  std::int64_t due_ms_ = 0;
  std::int64_t tried_ms_ = 0;
};

}  // namespace weir::net
