// SPDX-License-Identifier: Apache-2.0
// Two connections that switched protocols: bytes go both ways as they are, until both ends have sent their
// end, one of them breaks, nothing moves for too long, or somebody stops it. Reading stops while the other
// side does not take what was read, so that a way holds one block (64 KiB) at most, and none while its
// receiver keeps up. Neither way waits for the other. One thread only.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "http/exchange_pool.hpp"
#include "http/frame_boundary.hpp"
#include "net/stream.hpp"
#include "net/waiter.hpp"

namespace weir::http {

class Tunnel {
 public:
  // How long nothing may move once one end has sent its end: half a tunnel is seldom wanted.
  static constexpr std::int64_t kHalfClosedIdleMs = 60 * 1000;

  enum class End : std::uint8_t { closed, idle, client_broke, upstream_broke, stopped };

  // All arguments outlive the tunnel. While it runs, it observes both streams.
  Tunnel(net::EventLoop& loop, ExchangePool& pool, net::Stream& client, net::Stream& upstream);
  Tunnel(const Tunnel&) = delete;
  Tunnel& operator=(const Tunnel&) = delete;

  // What had arrived behind the heads; it goes first.
  struct Early {
    std::string_view from_client;
    std::string_view from_upstream;
  };
  // What the bytes are. Both sides of a WebSocket are told when it ends for want of bytes or by stop().
  enum class Frames : std::uint8_t { none, websocket };
  // `idle_limit` 0: none. The caller closes the streams.
  boost::asio::awaitable<End> run(Early early, std::chrono::milliseconds idle_limit, Frames frames);
  // Ends it now, also before run(). The tunnel may be gone when this returns.
  void stop();

  std::uint64_t bytes_from_client() const noexcept { return up_.passed; }
  std::uint64_t bytes_to_client() const noexcept { return down_.passed; }

 private:
  struct Way {
    net::Stream& from;
    net::Stream& to;
    End broken;                     // what an error of `from` means
    std::unique_ptr<char[]> block;  // holds `rest`, unless that came early
    std::string_view rest;          // read, not yet taken
    std::uint64_t passed = 0;
    FrameBoundary boundary;
    bool over = false;
  };
  enum class Moved : std::uint8_t { nothing, something };

  Moved move(Way& way);
  Moved push(Way& way);
  void keep_rest(Way& way);
  void say_goodbye(Way& way, std::string_view frame) noexcept;
  void finish(Way& way) noexcept;
  void wake_on_events(net::Stream& stream);
  bool runs() const noexcept { return end_ == End::closed && !(up_.over && down_.over); }
  std::int64_t deadline(std::int64_t idle_ms) const noexcept;

  net::EventLoop& loop_;
  ExchangePool& pool_;
  net::Waiter waiter_;
  Way up_;
  Way down_;
  End end_ = End::closed;
  Frames frames_ = Frames::none;
  std::int64_t moved_ms_ = 0;
};

}  // namespace weir::http
