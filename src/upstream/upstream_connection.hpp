// SPDX-License-Identifier: Apache-2.0
// One connection to an endpoint: in use by one forward, or idle in its endpoint's pool.
#pragma once

#include <memory>

#include "net/stream.hpp"
#include "net/timer_wheel.hpp"

namespace weir::upstream {

class Endpoint;

class UpstreamConnection {
 public:
  UpstreamConnection(Endpoint& endpoint, std::unique_ptr<net::Stream> stream);
  ~UpstreamConnection();
  UpstreamConnection(const UpstreamConnection&) = delete;
  UpstreamConnection& operator=(const UpstreamConnection&) = delete;

  net::Stream& stream() noexcept { return *stream_; }
  bool reused() const noexcept { return served_ > 0; }
  std::size_t served() const noexcept { return served_; }  // requests before this one

  // Idle: whatever happens on the socket, or the deadline, ends it.
  void rest(std::int64_t deadline_ms);
  void work() noexcept;

 private:
  void on_idle_event();

  Endpoint& endpoint_;
  std::unique_ptr<net::Stream> stream_;
  net::Timer idle_timer_;
  std::size_t served_ = 0;
};

}  // namespace weir::upstream
