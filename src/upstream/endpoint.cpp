// SPDX-License-Identifier: Apache-2.0
#include "upstream/endpoint.hpp"

#include <algorithm>

namespace weir::upstream {
namespace {

std::string name_of(const EndpointOptions& options) {
  const bool bare_ipv6 = options.host.find(':') != std::string::npos;
  return (bare_ipv6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

}  // namespace

UpstreamConnection::UpstreamConnection(Endpoint& endpoint, std::unique_ptr<net::Stream> stream)
    : endpoint_(endpoint),
      stream_(std::move(stream)),
      idle_timer_(
          endpoint.loop().wheel(),
          [](void* self) {
            static_cast<UpstreamConnection*>(self)->endpoint_.drop(*static_cast<UpstreamConnection*>(self));
          },
          this) {
  endpoint_.stats().connections.fetch_add(1, std::memory_order_relaxed);
}

UpstreamConnection::~UpstreamConnection() {
  endpoint_.stats().connections.fetch_sub(1, std::memory_order_relaxed);
}

void UpstreamConnection::rest(std::int64_t deadline_ms) {
  reused_ = true;
  idle_timer_.arm(deadline_ms);
  stream_->observe({[](void* self) { static_cast<UpstreamConnection*>(self)->on_idle_event(); }, this});
}

void UpstreamConnection::work() noexcept {
  idle_timer_.rest();
  stream_->clear_observer();
}

void UpstreamConnection::on_idle_event() {
  const bool quiet =
      !stream_->broken() && !stream_->peer_ended() && (!stream_->may_read() || !stream_->has_unread_bytes());
  if (!quiet) endpoint_.drop(*this);
}

Endpoint::Endpoint(net::EventLoop& loop, const EndpointOptions& options)
    : loop_(loop), options_(options), name_(name_of(options)), addresses_(loop, options.host, options.port) {}

Endpoint::~Endpoint() = default;

void Endpoint::count_idle() noexcept {
  stats_.idle_connections.store(static_cast<std::int64_t>(idle_.size()), std::memory_order_relaxed);
}

std::unique_ptr<UpstreamConnection> Endpoint::take(Check check) {
  while (!idle_.empty()) {
    std::unique_ptr<UpstreamConnection> connection = std::move(idle_.back());
    idle_.pop_back();
    count_idle();
    net::Stream& stream = connection->stream();
    // Bytes that nobody asked for would be taken for the next answer.
    const bool suspicious = check == Check::kernel || stream.may_read();
    if (stream.broken() || stream.peer_ended() || (suspicious && stream.has_unread_bytes())) continue;
    connection->work();
    return connection;
  }
  return nullptr;
}

void Endpoint::give_back(std::unique_ptr<UpstreamConnection> connection, std::chrono::milliseconds keep_alive,
                         std::size_t most) {
  if (retired_ || most == 0) return;
  if (idle_.size() >= most) idle_.erase(idle_.begin());
  connection->rest(keep_alive.count() > 0 ? loop_.now_ms() + keep_alive.count() : 0);
  idle_.push_back(std::move(connection));
  count_idle();
}

void Endpoint::retire() noexcept {
  retired_ = true;
  idle_.clear();
  count_idle();
}

void Endpoint::drop(UpstreamConnection& connection) noexcept {
  std::erase_if(idle_, [&connection](const auto& one) { return one.get() == &connection; });
  count_idle();
}

}  // namespace weir::upstream
