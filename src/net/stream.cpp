// SPDX-License-Identifier: Apache-2.0
#include "net/stream.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace weir::net {
namespace {

error_code last_error() noexcept {
  return {errno, boost::system::system_category()};
}

// recv() and send() of the C library are cancellation points: in a program with threads each call switches
// asynchronous cancellation on and off with two locked instructions, 1 % of a request's time. Nobody cancels
// threads here, and nothing of this blocks.
ssize_t receive(int descriptor, std::span<char> into, int flags) noexcept {
  return ::syscall(SYS_recvfrom, descriptor, into.data(), into.size(), flags, nullptr, nullptr);
}

ssize_t send(int descriptor, std::string_view bytes, std::string_view more, int flags) noexcept {
  if (more.empty()) return ::syscall(SYS_sendto, descriptor, bytes.data(), bytes.size(), flags, nullptr, 0);
  std::array<iovec, 2> pieces{iovec{const_cast<char*>(bytes.data()), bytes.size()},
                              iovec{const_cast<char*>(more.data()), more.size()}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::syscall(SYS_sendmsg, descriptor, &message, flags);
}

boost::asio::awaitable<Wake> at_once(Wake wake) {
  co_return wake;
}

}  // namespace

bool would_block(const error_code& error) noexcept {
  return error == boost::system::errc::operation_would_block ||
         error == boost::system::errc::resource_unavailable_try_again;
}

Stream::Stream(EventLoop& loop, int descriptor, bool connected)
    : loop_(loop), waiter_(loop.wheel()), descriptor_(descriptor), writable_(connected) {
  if (!loop.poller().add(descriptor, *this)) broken_ = readable_ = writable_ = true;
}

Stream::~Stream() {
  Stream::close();
}

Result<std::size_t> Stream::try_read(std::span<char> into) noexcept {
  if (!readable_) return make_error_code(boost::system::errc::operation_would_block);
  ssize_t got = 0;
  do {
    got = receive(descriptor_, into, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    const error_code failed = last_error();
    if (would_block(failed)) readable_ = false;
    return failed;
  }
  // A short read emptied the socket: the next byte makes a new event. An end that was noted stays to be read.
  const auto bytes = static_cast<std::size_t>(got);
  if (bytes > 0 && bytes < into.size() && !peer_ended_ && !broken_) readable_ = false;
  return bytes;
}

Result<std::size_t> Stream::try_write(std::string_view bytes) noexcept {
  if (put_off_) loop_.poller().send_early(*this);
  return may_write() ? send_now(bytes) : Result<std::size_t>(std::size_t{0});
}

Result<std::size_t> Stream::try_write_both(std::string_view first, std::string_view second) noexcept {
  if (put_off_) loop_.poller().send_early(*this);
  return may_write() ? send_now(first, second) : Result<std::size_t>(std::size_t{0});
}

Result<std::size_t> Stream::try_write_soon(std::string_view bytes) noexcept {
  const bool short_enough = bytes.size() <= kPutOffBytes && may_write() && !put_off_;
  if (!short_enough || !loop_.poller().put_off(*this, bytes)) return Stream::try_write(bytes);
  put_off_ = true;
  return bytes.size();
}

bool Stream::send_put_off(std::string_view bytes) noexcept {
  put_off_ = false;
  const auto taken = send_now(bytes);
  if (!taken) {
    broken_ = readable_ = true;  // the failure itself shows when the stream is next read or written
    return false;
  }
  if (*taken < bytes.size()) unsent_ = bytes.substr(*taken);
  return true;
}

void Stream::send_unsent() noexcept {
  const auto taken = send_now(unsent_);
  if (!taken) broken_ = readable_ = true;
  unsent_.erase(0, taken ? *taken : unsent_.size());
  if (unsent_.empty()) std::string().swap(unsent_);
}

Result<std::size_t> Stream::send_now(std::string_view bytes, std::string_view more) noexcept {
  ssize_t taken = 0;
  do {
    taken = send(descriptor_, bytes, more, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (taken < 0 && errno == EINTR);
  if (taken < 0) {
    const error_code failed = last_error();
    if (!would_block(failed)) return failed;
    taken = 0;
  }
  if (static_cast<std::size_t>(taken) < bytes.size() + more.size()) writable_ = false;
  return static_cast<std::size_t>(taken);
}

void Stream::shutdown_write() noexcept {
  if (put_off_) loop_.poller().send_early(*this);
  if (open()) ::shutdown(descriptor_, SHUT_WR);
}

boost::asio::awaitable<Wake> Stream::wait(Interest interest, std::int64_t deadline_ms) {
  if (canceled_ || !open()) return at_once(Wake::canceled);
  const bool ready =
      (interest != Interest::write && may_read()) || (interest != Interest::read && may_write());
  if (ready) return at_once(Wake::ready);
  interest_ = interest;
  return waiter_.wait(deadline_ms);
}

void Stream::cancel() {
  canceled_ = true;
  waiter_.wake(Wake::canceled);
}

void Stream::nudge() {
  waiter_.wake(Wake::ready);
}

error_code Stream::connect_error() const noexcept {
  int pending = 0;
  socklen_t size = sizeof pending;
  if (::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &pending, &size) != 0) return last_error();
  return {pending, boost::system::system_category()};
}

bool Stream::has_unread_bytes() noexcept {
  char byte = 0;
  const ssize_t got = ::recv(descriptor_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  readable_ = got >= 0 || !would_block(last_error());
  return readable_;
}

// As with a short read, more than what was seen makes a new event.
Result<std::size_t> Stream::try_peek(std::span<char> into) noexcept {
  if (!readable_) return make_error_code(boost::system::errc::operation_would_block);
  ssize_t got = 0;
  do {
    got = receive(descriptor_, into, MSG_DONTWAIT | MSG_PEEK);
  } while (got < 0 && errno == EINTR);
  const error_code failed = got < 0 ? last_error() : error_code();
  const bool all_seen = got > 0 && static_cast<std::size_t>(got) < into.size() && !peer_ended_ && !broken_;
  if (all_seen || would_block(failed)) readable_ = false;
  if (failed) return failed;
  return static_cast<std::size_t>(got);
}

Result<void> Stream::drop(std::size_t bytes) noexcept {
  readable_ = true;
  char sink[512];
  while (bytes > 0) {
    const ssize_t got = receive(descriptor_, {sink, std::min(bytes, sizeof sink)}, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return last_error();
    if (got == 0) return make_error_code(boost::system::errc::connection_reset);
    bytes -= static_cast<std::size_t>(got);
  }
  return {};
}

void Stream::close() noexcept {
  if (!open()) return;
  if (put_off_) loop_.poller().send_early(*this);
  loop_.poller().remove(descriptor_, *this);
  ::close(descriptor_);
  descriptor_ = -1;
}

void Stream::reset() noexcept {
  if (!open()) return;
  const linger hard{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  Stream::close();
}

void Stream::note(std::uint32_t events) noexcept {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) broken_ = true;
  if ((events & EPOLLRDHUP) != 0) peer_ended_ = true;
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0 || broken_) readable_ = true;
  if ((events & EPOLLOUT) != 0 || broken_) writable_ = true;
}

void Stream::deliver() {
  if (!unsent_.empty() && writable_) send_unsent();
  if (!waiter_.waiting()) {
    if (observer_.call != nullptr) observer_.call(observer_.context);
    return;
  }
  const bool wanted =
      (interest_ != Interest::write && may_read()) || (interest_ != Interest::read && may_write());
  if (wanted) waiter_.wake(Wake::ready);
}

}  // namespace weir::net
