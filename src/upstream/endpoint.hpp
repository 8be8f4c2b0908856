// SPDX-License-Identifier: Apache-2.0
// One backend address on one worker: its name, its pooled connections, its counts. Outlives its removal from
// the configuration while requests still use it. One thread only, but for the counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/event_loop.hpp"
#include "net/resolver.hpp"
#include "upstream/forwarders.hpp"
#include "upstream/upstream_connection.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

class Endpoint {
 public:
  // How sure take() must be that the connection still lives: a request that cannot be repeated asks the
  // kernel (one more system call), others trust the events seen so far and are retried if those came late.
  enum class Check : std::uint8_t { events, kernel };

  Endpoint(net::EventLoop& loop, const EndpointOptions& options);
  ~Endpoint();

  const EndpointOptions& options() const noexcept { return options_; }
  const std::string& name() const noexcept { return name_; }  // "host:port", IPv6 in brackets
  net::EventLoop& loop() noexcept { return loop_; }
  net::ResolvedName& addresses() noexcept { return addresses_; }
  EndpointStats& stats() noexcept { return stats_; }

  // The connection that was used last (it is the least likely to be closed by the peer), or nullptr.
  std::unique_ptr<UpstreamConnection> take(Check check);
  // Keeps the connection for `keep_alive`; closes the oldest above `most`.
  void give_back(std::unique_ptr<UpstreamConnection> connection, std::chrono::milliseconds keep_alive,
                 std::size_t most);
  // No longer configured: closes idle connections, keeps no new ones.
  void retire() noexcept;

 private:
  friend class UpstreamConnection;
  void drop(UpstreamConnection& connection) noexcept;
  void count_idle() noexcept;

  net::EventLoop& loop_;
  EndpointOptions options_;
  std::string name_;
  net::ResolvedName addresses_;
  EndpointStats stats_;
  std::vector<std::unique_ptr<UpstreamConnection>> idle_;  // the last used is the last
  bool retired_ = false;
};

}  // namespace weir::upstream
