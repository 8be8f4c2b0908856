// SPDX-License-Identifier: Apache-2.0
#include "http/tunnel.hpp"

#include <algorithm>
#include <cstring>

namespace weir::http {

using boost::asio::awaitable;
using net::Wake;

namespace {

constexpr int kMovesPerTurn = 16;  // of 64 KiB at most each way, before others get a turn

}  // namespace

Tunnel::Tunnel(net::EventLoop& loop, ExchangePool& pool, net::Stream& client, net::Stream& upstream)
    : loop_(loop),
      pool_(pool),
      waiter_(loop.wheel()),
      up_{client, upstream, End::client_broke, nullptr, {}, 0, {}, false},
      down_{upstream, client, End::upstream_broke, nullptr, {}, 0, {}, false} {}

// Neither stream is waited for itself: both wake the one who moves bytes either way.
void Tunnel::wake_on_events(net::Stream& stream) {
  stream.observe({[](void* self) { static_cast<Tunnel*>(self)->waiter_.wake(Wake::ready); }, this});
}

awaitable<Tunnel::End> Tunnel::run(Early early, std::chrono::milliseconds idle_limit, Frames frames) {
  frames_ = frames;
  up_.rest = early.from_client;
  down_.rest = early.from_upstream;
  wake_on_events(up_.from);
  wake_on_events(down_.from);
  moved_ms_ = loop_.now_ms();
  int moves = 0;
  while (runs()) {
    const Moved up = move(up_);
    const Moved down = move(down_);
    if (up == Moved::something || down == Moved::something) {
      moved_ms_ = loop_.now_ms();
      if (++moves < kMovesPerTurn) continue;
      co_await loop_.yield();
    } else {
      const std::int64_t until = deadline(idle_limit.count());
      const Wake wake = co_await waiter_.wait(until);
      if (wake == Wake::timed_out && end_ == End::closed) end_ = End::idle;
    }
    moves = 0;
  }
  up_.from.clear_observer();
  down_.from.clear_observer();
  say_goodbye(up_, kGoingAwayMasked);
  say_goodbye(down_, kGoingAway);
  finish(up_);
  finish(down_);
  co_return end_;
}

void Tunnel::stop() {
  if (end_ == End::closed) end_ = End::stopped;
  waiter_.wake(Wake::canceled);
}

Tunnel::Moved Tunnel::move(Way& way) {
  if (way.over) return Moved::nothing;
  if (!way.rest.empty()) return push(way);
  const auto got = way.from.try_read(loop_.scratch());
  if (!got && net::would_block(got.error())) return Moved::nothing;
  if (!got) {
    if (end_ == End::closed) end_ = way.broken;
  } else if (*got == 0) {
    way.to.shutdown_write();
    finish(way);
  } else {
    way.rest = {loop_.scratch().data(), *got};
    (void)push(way);
    keep_rest(way);
  }
  return Moved::something;
}

Tunnel::Moved Tunnel::push(Way& way) {
  const auto taken = way.to.try_write(way.rest);
  if (!taken) {
    // Nobody takes it any more; what its receiver had said before is still on the other way.
    finish(way);
    return Moved::something;
  }
  way.passed += *taken;
  if (frames_ == Frames::websocket) way.boundary.pass(way.rest.substr(0, *taken));
  way.rest.remove_prefix(*taken);
  if (way.rest.empty() && way.block != nullptr) pool_.give_back(std::move(way.block));
  return *taken > 0 ? Moved::something : Moved::nothing;
}

// The scratch is everybody's: what was not taken moves to a block of this way's own.
void Tunnel::keep_rest(Way& way) {
  if (way.rest.empty()) return;
  way.block = pool_.take_block();
  std::memcpy(way.block.get(), way.rest.data(), way.rest.size());
  way.rest = {way.block.get(), way.rest.size()};
}

// These few bytes fit or are not sent: nobody waits for them.
void Tunnel::say_goodbye(Way& way, std::string_view frame) noexcept {
  const bool ended_here = end_ == End::stopped || end_ == End::idle;
  if (!ended_here || frames_ == Frames::none || way.over || !way.rest.empty() || !way.boundary.reached())
    return;
  (void)way.to.try_write(frame);
}

void Tunnel::finish(Way& way) noexcept {
  way.over = true;
  way.rest = {};
  if (way.block != nullptr) pool_.give_back(std::move(way.block));
}

std::int64_t Tunnel::deadline(std::int64_t idle_ms) const noexcept {
  if (up_.over || down_.over)
    idle_ms = idle_ms == 0 ? kHalfClosedIdleMs : std::min(idle_ms, kHalfClosedIdleMs);
  return idle_ms == 0 ? 0 : moved_ms_ + idle_ms;
}

}  // namespace weir::http
