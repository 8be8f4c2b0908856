// SPDX-License-Identifier: Apache-2.0
// The sockets of one worker: an edge-triggered epoll set of its own behind a single Asio descriptor. Each
// socket is registered once for all events; a wait then costs no system call (Asio's own async_wait costs an
// epoll_ctl per wait, 2 of 6.3 calls per proxied request). One thread only.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"

namespace weir::net {

class Poller;

// Something with a descriptor in the set.
class Pollable {
 public:
  Pollable(const Pollable&) = delete;
  Pollable& operator=(const Pollable&) = delete;

 protected:
  Pollable() = default;
  virtual ~Pollable() = default;

 private:
  friend class Poller;
  // First for the whole batch: take note of the events (epoll bits), call nobody. So whoever is called sees
  // the latest state of every other socket, too.
  virtual void note(std::uint32_t events) noexcept = 0;
  // Then one by one: act on what was noted. May destroy any Pollable, this one included.
  virtual void deliver() = 0;
  // At the end of the turn: bytes that were put off (Poller::put_off()). False if the connection is broken.
  virtual bool send_put_off(std::string_view) noexcept { return true; }
};

class Poller {
 public:
  // Throws boost::system::system_error without descriptors (start-up only).
  Poller(boost::asio::io_context& io, const Clock& clock);

  // The monotonic time when the events being delivered were taken: one clock read for all of them.
  std::int64_t now_ms() const noexcept { return now_ms_; }
  // The same of the wall clock.
  std::int64_t wall_ms() const noexcept { return wall_ms_; }
  void refresh_time() noexcept {
    now_ms_ = clock_.monotonic_ms();
    wall_ms_ = clock_.wall_ms();
  }

  // Registers for reading, writing and hang-up, edge-triggered. The first event comes by itself if the
  // descriptor is ready already. The Pollable must call remove() before its descriptor is closed.
  Result<void> add(int descriptor, Pollable& pollable) noexcept;
  void remove(int descriptor, Pollable& pollable) noexcept;

  // Keeps a copy of `bytes` for the end of this turn, when `pollable` gets them back to send. While several
  // sockets are served, what they send then goes out in one sweep: a peer that sleeps is woken once for it,
  // not once for each, and the kernel's sending code stays warm. False, and nothing kept, if this turn serves
  // one socket only or holds enough; send at once then. At most once for each pollable and turn, unless
  // send_early() came between.
  bool put_off(Pollable& pollable, std::string_view bytes) noexcept;
  // Does now what was put off for `pollable`, if anything was.
  void send_early(Pollable& pollable) noexcept;

  void start();
  void stop() noexcept;

 private:
  static constexpr int kBatch = 128;
  static constexpr std::size_t kPutOffBytes = 64 * 1024;

  struct PutOff {
    Pollable* pollable;
    std::uint32_t from;
    std::uint32_t size;
  };

  void end_turn();
  void wait();
  void dispatch();

  boost::asio::posix::stream_descriptor set_;
  const Clock& clock_;
  std::int64_t now_ms_;
  std::int64_t wall_ms_;
  std::array<epoll_event, kBatch> batch_;
  int batch_size_ = 0;
  std::unique_ptr<char[]> put_off_bytes_;
  std::size_t put_off_used_ = 0;
  boost::container::static_vector<PutOff, kBatch> put_off_;
};

}  // namespace weir::net
