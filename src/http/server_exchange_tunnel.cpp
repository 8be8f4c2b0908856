// SPDX-License-Identifier: Apache-2.0
// What becomes of a ServerExchange whose connection switches protocols.
#include "http/server_exchange.hpp"

namespace weir::http {

using boost::asio::awaitable;

awaitable<Ending> ServerExchange::tunnel(const Switch& to, net::Stream& upstream) {
  Tunnel tunnel(loop_, pool_, *downstream_.stream, upstream);
  tunnel_ = &tunnel;
  tunneled_ = true;
  persistence_ = ResponseWriter::Persistence::close;
  total_deadline_ms_ = 0;
  total_timer_.rest();
  half_close_timer_.rest();
  std::atomic<std::int64_t>& open = *downstream_.open_tunnels;
  open.fetch_add(1, std::memory_order_relaxed);

  writer_.switch_protocols(to.field_lines);
  const Result<void> sent = co_await flush();
  if (sent) {
    const Tunnel::Early first{std::string_view(in_).substr(in_used_), to.early};
    const auto idle_limit = downstream_.options->tunnel_idle_timeout;
    const auto frames = to.protocol == "websocket" ? Tunnel::Frames::websocket : Tunnel::Frames::none;
    const Tunnel::End end = co_await tunnel.run(first, idle_limit, frames);
    end_tunnel(tunnel, end);
  }
  tunnel_ = nullptr;
  open.fetch_sub(1, std::memory_order_relaxed);
  co_return ending_;
}

void ServerExchange::end_tunnel(const Tunnel& tunnel, Tunnel::End end) noexcept {
  received_ += tunnel.bytes_from_client();
  tunnel_sent_ = tunnel.bytes_to_client();
  switch (end) {
    case Tunnel::End::closed:
      break;
    case Tunnel::End::idle:
      ending_ = Ending::timed_out;
      break;
    case Tunnel::End::client_broke:
      lose_client();
      break;
    case Tunnel::End::upstream_broke:
      ending_ = Ending::upstream_failed;
      break;
    case Tunnel::End::stopped:
      ending_ = Ending::aborted;
      break;
  }
}

}  // namespace weir::http
