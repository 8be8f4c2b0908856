// SPDX-License-Identifier: Apache-2.0
// The Forwarder of one cluster on one worker: its endpoints (cluster.cpp), the loop over the attempts of a
// request (forwarding.cpp) and what decides whether there is another (attempts.cpp). Kept alive by the
// requests it is forwarding. One thread only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "upstream/balancers.hpp"
#include "upstream/endpoint.hpp"
#include "upstream/relay.hpp"
#include "upstream/retry_budget.hpp"
#include "upstream/shared_cluster.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

class Cluster final : public Forwarder, public std::enable_shared_from_this<Cluster> {
 public:
  static constexpr std::size_t kKeptRelays = 512;

  Cluster(net::EventLoop& loop, const ClusterOptions& options, std::shared_ptr<SharedCluster> shared);
  ~Cluster() override;

  boost::asio::awaitable<ForwardResult> forward(http::Exchange& exchange, const ForwardPlan& plan) override;

  const std::string& name() const noexcept { return options_->name; }
  const Endpoints& endpoints() const noexcept { return endpoints_; }
  const ClusterStats& stats() const noexcept { return stats_; }
  // Endpoints with the same host and port stay as they are; others are retired or new.
  void update(const ClusterOptions& options);
  void retire() noexcept;  // removed from the configuration: idle connections close, tunnels later
  void stop() noexcept;    // and what is under way is canceled

 private:
  // What one forward holds; returns the relay, the counts and the place when the coroutine ends, however it
  // does.
  struct Forward {
    Forward(std::shared_ptr<Cluster> cluster, http::Exchange& exchange, const ForwardPlan& plan);
    ~Forward();
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

    void take(std::shared_ptr<Endpoint> next);  // the endpoint of the next attempt
    void leave() noexcept;

    std::shared_ptr<Cluster> cluster;
    std::shared_ptr<const ClusterOptions> options;
    http::Exchange& exchange;
    const ForwardPlan& plan;
    std::unique_ptr<Relay> relay;
    std::shared_ptr<Endpoint> endpoint;
    std::shared_ptr<SharedEndpoint> place;  // of max_connections, where that is set
    std::unique_ptr<UpstreamConnection> connection;
    std::vector<const Endpoint*> tried;
    std::optional<RetryReason> reason;  // of this attempt; none: it is the first
    ForwardResult result;
    int paid = 0;            // retries that counted against the attempts and the budget
    int refused_status = 0;  // of the answer that was thrown away
    int connects_tried = 0;  // connections that were refused
    std::int64_t back_off_ms = 0;
    bool replaced = false;   // a connection that had died
    bool must_wait = false;  // every endpoint is at its cap
  };
  struct Place;  // in the queue

  static boost::asio::awaitable<ForwardResult> run(std::shared_ptr<Cluster> self, http::Exchange& exchange,
                                                   const ForwardPlan& plan);
  static ForwardError choose(Forward& forward);
  static bool choose_free(Forward& forward, const Choice& choice);
  static boost::asio::awaitable<ForwardError> wait_for_place(Forward& forward);
  static bool reuse(Forward& forward);
  static boost::asio::awaitable<ForwardError> connect(Forward& forward);
  static boost::asio::awaitable<ForwardError> connect_to(Forward& forward, const net::PeerAddress& address);
  static Result<std::unique_ptr<net::Stream>> dial(Forward& forward, const net::PeerAddress& address);
  static boost::asio::awaitable<ForwardError> secure(Forward& forward);
  static boost::asio::awaitable<void> back_off(Forward& forward);
  static boost::asio::awaitable<void> answer(Forward& forward, ForwardError error);

  static void record(Forward& forward, ForwardError error);
  static bool another_attempt(Forward& forward, ForwardError error);
  static std::optional<RetryReason> reason_for(const Forward& forward, ForwardError error);
  static bool may_retry(Forward& forward, RetryReason reason);
  static bool pay(Forward& forward, RetryReason reason);
  static bool refuses_status(void* forward, int status);
  static int most_attempts(const Forward& forward) noexcept;
  static void conclude(Forward& forward, ForwardError error);

  void end_tunnels() noexcept;
  void plan_end_of_tunnels() noexcept;

  net::EventLoop& loop_;
  std::shared_ptr<SharedCluster> shared_;
  std::shared_ptr<const ClusterOptions> options_;
  Endpoints endpoints_;
  std::string fallback_host_;  // for HTTP/1.0 requests that name none
  Balancer balancer_;
  RetryBudget budget_;
  ClusterStats stats_;
  net::Timer drain_timer_;
  std::vector<std::unique_ptr<Relay>> relays_;  // not in use
  std::vector<Forward*> running_;
  std::uint64_t chance_;  // for back-offs
  bool stopped_ = false;
};

}  // namespace weir::upstream
