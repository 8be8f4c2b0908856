// SPDX-License-Identifier: Apache-2.0
#include "upstream/endpoint.hpp"

#include <algorithm>

namespace weir::upstream {

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
  ++served_;
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

Endpoint::Endpoint(net::EventLoop& loop, const EndpointOptions& options,
                   std::shared_ptr<SharedEndpoint> shared)
    : loop_(loop),
      options_(options),
      shared_(std::move(shared)),
      sessions_(std::make_shared<net::TlsSessions>()),
      addresses_(loop, options.host, options.port) {}

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

void Endpoint::give_back(std::unique_ptr<UpstreamConnection> connection, const ClusterOptions& options) {
  const std::size_t most = options.idle_connections;
  const std::size_t requests = options.requests_per_connection;
  if (retired_ || most == 0 || (requests != 0 && connection->served() + 1 >= requests)) return;
  if (idle_.size() >= most) idle_.erase(idle_.begin());
  const std::int64_t keep_ms = options.keep_alive.count();
  connection->rest(keep_ms > 0 ? loop_.now_ms() + keep_ms : 0);
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
