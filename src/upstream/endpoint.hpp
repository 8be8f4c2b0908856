// SPDX-License-Identifier: Apache-2.0
// One backend address on one worker: its name, its pooled connections, its counts. Outlives its removal from
// the configuration while requests still use it. One thread only, but for the counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/event_loop.hpp"
#include "net/resolver.hpp"
#include "net/tls_context.hpp"
#include "upstream/forwarders.hpp"
#include "upstream/shared_cluster.hpp"
#include "upstream/upstream_connection.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

class Endpoint {
 public:
  // How sure take() must be that the connection still lives: a request that cannot be repeated asks the
  // kernel (one more system call), others trust the events seen so far and are retried if those came late.
  enum class Check : std::uint8_t { events, kernel };

  Endpoint(net::EventLoop& loop, const EndpointOptions& options, std::shared_ptr<SharedEndpoint> shared);
  ~Endpoint();

  bool is_at(const EndpointOptions& options) const noexcept {
    return options.host == options_.host && options.port == options_.port;
  }
  const std::string& name() const noexcept { return shared_->name; }  // "host:port", IPv6 in brackets
  const std::string& host() const noexcept { return options_.host; }
  const std::shared_ptr<net::TlsSessions>& sessions() const noexcept { return sessions_; }
  int weight() const noexcept { return options_.weight; }
  void set_weight(int weight) noexcept { options_.weight = weight; }
  std::int64_t& credit() noexcept { return credit_; }  // the balancer's, for taking turns by weight
  const std::shared_ptr<SharedEndpoint>& shared() const noexcept { return shared_; }
  net::EventLoop& loop() noexcept { return loop_; }
  net::ResolvedName& addresses() noexcept { return addresses_; }
  EndpointStats& stats() noexcept { return stats_; }

  // The connection that was used last (it is the least likely to be closed by the peer), or nullptr.
  std::unique_ptr<UpstreamConnection> take(Check check);
  // Keeps the connection for `keep_alive`; closes the oldest above `idle_connections`, and one that has
  // served requests_per_connection.
  void give_back(std::unique_ptr<UpstreamConnection> connection, const ClusterOptions& options);
  // No longer configured: closes idle connections, keeps no new ones.
  void retire() noexcept;
  bool retired() const noexcept { return retired_; }

 private:
  friend class UpstreamConnection;
  void drop(UpstreamConnection& connection) noexcept;
  void count_idle() noexcept;

  net::EventLoop& loop_;
  EndpointOptions options_;
  std::shared_ptr<SharedEndpoint> shared_;
  std::shared_ptr<net::TlsSessions> sessions_;
  std::int64_t credit_ = 0;
  net::ResolvedName addresses_;
  EndpointStats stats_;
  std::vector<std::unique_ptr<UpstreamConnection>> idle_;  // the last used is the last
  bool retired_ = false;
};

}  // namespace weir::upstream
