// SPDX-License-Identifier: Apache-2.0
#include "net/poller.hpp"

#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstring>

namespace weir::net {
namespace {

int make_epoll_set() {
  const int descriptor = ::epoll_create1(EPOLL_CLOEXEC);
  if (descriptor < 0) {
    throw boost::system::system_error(errno, boost::system::system_category(), "epoll_create1");
  }
  return descriptor;
}

}  // namespace

Poller::Poller(boost::asio::io_context& io, const Clock& clock)
    : set_(io, make_epoll_set()),
      clock_(clock),
      now_ms_(clock.monotonic_ms()),
      wall_ms_(clock.wall_ms()),
      put_off_bytes_(std::make_unique_for_overwrite<char[]>(kPutOffBytes)) {}

Result<void> Poller::add(int descriptor, Pollable& pollable) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &pollable;
  if (::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return error_code(errno, boost::system::system_category());
}

void Poller::remove(int descriptor, Pollable& pollable) noexcept {
  epoll_event unused{};
  if (set_.is_open()) ::epoll_ctl(set_.native_handle(), EPOLL_CTL_DEL, descriptor, &unused);
  // Its event may still stand in the batch being delivered.
  for (int n = 0; n < batch_size_; ++n) {
    if (batch_[static_cast<std::size_t>(n)].data.ptr == &pollable)
      batch_[static_cast<std::size_t>(n)].data.ptr = nullptr;
  }
  for (PutOff& each : put_off_) {
    if (each.pollable == &pollable) each.pollable = nullptr;
  }
}

bool Poller::put_off(Pollable& pollable, std::string_view bytes) noexcept {
  const bool has_room = put_off_.size() < put_off_.capacity() && bytes.size() <= kPutOffBytes - put_off_used_;
  if (batch_size_ < 2 || !has_room) return false;
  std::memcpy(put_off_bytes_.get() + put_off_used_, bytes.data(), bytes.size());
  put_off_.push_back(
      {&pollable, static_cast<std::uint32_t>(put_off_used_), static_cast<std::uint32_t>(bytes.size())});
  put_off_used_ += bytes.size();
  return true;
}

void Poller::send_early(Pollable& pollable) noexcept {
  for (PutOff& each : put_off_) {
    if (each.pollable != &pollable) continue;
    each.pollable = nullptr;
    (void)pollable.send_put_off({put_off_bytes_.get() + each.from, each.size});
  }
}

void Poller::end_turn() {
  batch_size_ = 0;  // from here on nothing is put off, so the list does not grow
  for (const PutOff& each : put_off_) {
    Pollable* const pollable = each.pollable;
    if (pollable == nullptr) continue;
    // Who waits for an answer learns that none will come. (It may end, and others with it: see remove().)
    if (!pollable->send_put_off({put_off_bytes_.get() + each.from, each.size})) pollable->deliver();
  }
  put_off_.clear();
  put_off_used_ = 0;
}

void Poller::start() {
  wait();
}

void Poller::stop() noexcept {
  error_code ignored;
  set_.cancel(ignored);
}

void Poller::wait() {
  set_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](error_code failed) {
    if (failed) return;
    dispatch();
    wait();
  });
}

void Poller::dispatch() {
  refresh_time();
  // A full batch means that more is waiting; wait() sees that, since re-arming an epoll set that is ready
  // reports it again. Other handlers of the io_context get their turn in between.
  batch_size_ = ::epoll_wait(set_.native_handle(), batch_.data(), kBatch, 0);
  for (int n = 0; n < batch_size_; ++n) {
    const epoll_event& event = batch_[static_cast<std::size_t>(n)];
    static_cast<Pollable*>(event.data.ptr)->note(event.events);
  }
  for (int n = 0; n < batch_size_; ++n) {
    void* pollable = batch_[static_cast<std::size_t>(n)].data.ptr;
    if (pollable != nullptr) static_cast<Pollable*>(pollable)->deliver();
  }
  end_turn();
}

}  // namespace weir::net
