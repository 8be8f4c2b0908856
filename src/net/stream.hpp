// SPDX-License-Identifier: Apache-2.0
// A connected byte stream. Reading and writing never wait: they move what can be moved and say "would block";
// wait() then waits for more. Nothing is buffered here. TLS (net/tls_stream.hpp) derives from it and
// overrides the operations marked virtual. One coroutine at a time, one thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/acknowledged.hpp"
#include "net/event_loop.hpp"
#include "net/poller.hpp"
#include "net/waiter.hpp"
#include "weir/base/result.hpp"

namespace weir::net {

enum class Interest : std::uint8_t { read = 1, write = 2, either = 3 };

class Stream : public Pollable {
 public:
  // Called from the event loop when something happens while no coroutine waits for it. May destroy the
  // stream.
  struct Observer {
    void (*call)(void* context) = nullptr;
    void* context = nullptr;
  };

  // Takes over a non-blocking descriptor. `connected`: false while a connect is under way (writable then
  // means that it ended; see connect_error()).
  Stream(EventLoop& loop, int descriptor, bool connected);
  ~Stream() override;

  // Bytes read, 0 at the end of the stream. Errors: would_block (call wait()), or the connection's.
  // At most one system call, and none when nothing can have arrived since the last "would block".
  virtual Result<std::size_t> try_read(std::span<char> into) noexcept;
  // Bytes the kernel took; fewer than given: the rest would block. The rest is what has to come next.
  virtual Result<std::size_t> try_write(std::string_view bytes) noexcept;
  // Two texts, one behind the other, in one system call; not for TLS.
  Result<std::size_t> try_write_both(std::string_view first, std::string_view second) noexcept;
  // The same for a short message after which the peer is to speak: may be put off to the end of this turn of
  // the loop (Poller::put_off()), which counts as taken. If the kernel does not take all of it then, the rest
  // follows by itself, before anything else; only closing the stream loses it.
  virtual Result<std::size_t> try_write_soon(std::string_view bytes) noexcept;
  // True if try_read() may find something: bytes, the end, or an error.
  virtual bool may_read() const noexcept { return readable_; }
  bool may_write() const noexcept { return writable_ && unsent_.empty(); }
  // Bytes that the peer's side has acknowledged, in all (of TLS: with its records). One system call.
  std::optional<std::uint64_t> acknowledged() const noexcept { return acknowledged_bytes(descriptor_); }
  // Tells the peer that nothing more comes; reading goes on.
  virtual void shutdown_write() noexcept;

  // Waits for `interest`, at most until `deadline_ms` (0: no limit). Does not wait if the stream is
  // ready already. After cancel() or close() it returns `canceled` at once.
  boost::asio::awaitable<Wake> wait(Interest interest, std::int64_t deadline_ms);
  // Wakes a waiting coroutine with `canceled`, now; without one, its next wait() is canceled.
  void cancel();
  // Wakes a waiting coroutine with `ready`, so that it looks at the world again; without one, nothing.
  void nudge();

  bool waiting() const noexcept { return waiter_.waiting(); }

  void observe(Observer observer) noexcept { observer_ = observer; }
  void clear_observer() noexcept { observer_ = {}; }

  // The peer sent its end (it may still read), or the connection broke. As far as events told.
  bool peer_ended() const noexcept { return peer_ended_; }
  bool broken() const noexcept { return broken_; }
  // The pending error of the socket; 0 after a good connect.
  error_code connect_error() const noexcept;
  virtual bool has_unread_bytes() noexcept;  // asks the kernel: bytes, the end or an error are there to read
  // For what stands in front of everything else on the wire (a PROXY header): looks at the first bytes and
  // leaves them there, and drops bytes that were looked at. Both below TLS. Results as try_read()'s.
  Result<std::size_t> try_peek(std::span<char> into) noexcept;
  Result<void> drop(std::size_t bytes) noexcept;
  bool open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  EventLoop& loop() noexcept { return loop_; }

  virtual void close() noexcept;
  // Closes so that the peer sees a reset, never a clean end.
  void reset() noexcept;

 protected:
  void note(std::uint32_t events) noexcept override;
  void deliver() override;

 private:
  static constexpr std::size_t kPutOffBytes = 4 * 1024;  // longer messages are sent at once

  bool send_put_off(std::string_view bytes) noexcept override;
  Result<std::size_t> send_now(std::string_view bytes, std::string_view more = {}) noexcept;
  void send_unsent() noexcept;

  EventLoop& loop_;
  Waiter waiter_;
  Observer observer_;
  int descriptor_;
  Interest interest_ = Interest::read;
  bool readable_ = false;
  bool writable_;
  bool peer_ended_ = false;
  bool broken_ = false;
  bool canceled_ = false;
  bool put_off_ = false;  // bytes of this stream wait for the end of the turn
  std::string unsent_;    // what the kernel did not take of them
};

// True for the error that means "wait, then try again".
bool would_block(const error_code& error) noexcept;

}  // namespace weir::net
