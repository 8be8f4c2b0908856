// SPDX-License-Identifier: Apache-2.0
// The Forwarder of one cluster on one worker: the loop over attempts. Kept alive by the requests it is
// forwarding. One thread only.
#pragma once

#include <memory>
#include <vector>

#include "upstream/balancers.hpp"
#include "upstream/endpoint.hpp"
#include "upstream/relay.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

class Cluster final : public Forwarder, public std::enable_shared_from_this<Cluster> {
 public:
  static constexpr std::size_t kKeptRelays = 512;

  Cluster(net::EventLoop& loop, const ClusterOptions& options);
  ~Cluster() override;

  boost::asio::awaitable<ForwardResult> forward(http::Exchange& exchange, const ForwardPlan& plan) override;

  const std::string& name() const noexcept { return options_->name; }
  const Endpoints& endpoints() const noexcept { return endpoints_; }
  // Endpoints with the same host and port stay as they are; others are retired or new.
  void update(const ClusterOptions& options);
  void retire() noexcept;  // removed from the configuration: idle connections close
  void stop() noexcept;    // and what is under way is canceled

 private:
  // What one forward holds; returns the relay and the counts when the coroutine ends, however it does.
  struct Forward {
    Forward(std::shared_ptr<Cluster> cluster, http::Exchange& exchange, const ForwardPlan& plan);
    ~Forward();
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

    void choose();  // the next endpoint, avoiding the last
    void leave(ForwardError error) noexcept;

    std::shared_ptr<Cluster> cluster;
    std::shared_ptr<const ClusterOptions> options;
    http::Exchange& exchange;
    const ForwardPlan& plan;
    std::unique_ptr<Relay> relay;
    std::shared_ptr<Endpoint> endpoint;
    std::unique_ptr<UpstreamConnection> connection;
    ForwardResult result;
    bool retried = false;
  };

  static boost::asio::awaitable<ForwardResult> run(std::shared_ptr<Cluster> self, http::Exchange& exchange,
                                                   const ForwardPlan& plan);
  static bool reuse(Forward& forward);
  static boost::asio::awaitable<ForwardError> connect(Forward& forward);
  static boost::asio::awaitable<ForwardError> connect_to(Forward& forward, const net::PeerAddress& address);
  static boost::asio::awaitable<void> answer(Forward& forward, ForwardError error);
  static bool another_attempt(Forward& forward, ForwardError error);
  static void conclude(Forward& forward, ForwardError error);

  net::EventLoop& loop_;
  std::shared_ptr<const ClusterOptions> options_;
  Endpoints endpoints_;
  Balancer balancer_;
  std::vector<std::unique_ptr<Relay>> relays_;  // not in use
  std::vector<Relay*> running_;
  bool stopped_ = false;
};

}  // namespace weir::upstream
