// SPDX-License-Identifier: Apache-2.0
#include "upstream/cluster.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/own_count.hpp"

namespace weir::upstream {

Cluster::Cluster(net::EventLoop& loop, const ClusterOptions& options, std::shared_ptr<SharedCluster> shared)
    : loop_(loop),
      shared_(std::move(shared)),
      drain_timer_(
          loop.wheel(), [](void* self) { static_cast<Cluster*>(self)->end_tunnels(); }, this),
      chance_(process_seed()) {
  update(options);
}

Cluster::~Cluster() = default;

void Cluster::update(const ClusterOptions& options) {
  // A connection that was verified otherwise, or not at all, is not used.
  const bool same_tls = options_ == nullptr || options_->tls_version == options.tls_version;
  Endpoints next;
  for (const EndpointOptions& wanted : options.endpoints) {
    const auto same = std::find_if(endpoints_.begin(), endpoints_.end(),
                                   [&wanted](const auto& one) { return one->is_at(wanted); });
    const bool known = same != endpoints_.end() && same_tls;
    next.push_back(known ? *same : std::make_shared<Endpoint>(loop_, wanted, shared_->endpoint(wanted)));
    next.back()->set_weight(wanted.weight);
  }
  const Endpoints before = std::move(endpoints_);
  endpoints_ = std::move(next);
  options_ = std::make_shared<const ClusterOptions>(options);
  if (!endpoints_.empty()) {
    const std::string& first = endpoints_.front()->name();
    fallback_host_ = first.starts_with("unix:") ? "localhost" : first;
  }
  for (const auto& endpoint : before) {
    if (std::find(endpoints_.begin(), endpoints_.end(), endpoint) != endpoints_.end()) continue;
    endpoint->retire();
    plan_end_of_tunnels();
  }
}

void Cluster::retire() noexcept {
  for (const auto& endpoint : endpoints_) endpoint->retire();
  plan_end_of_tunnels();
}

// Requests end by their own time limits; a tunnel would go on for as long as both sides like.
void Cluster::plan_end_of_tunnels() noexcept {
  if (options_->drain.count() == 0 || running_.empty() || stopped_) return;
  drain_timer_.arm(loop_.now_ms() + options_->drain.count());
}

void Cluster::end_tunnels() noexcept {
  const std::shared_ptr<Cluster> self = shared_from_this();
  const std::vector<Forward*> running = running_;
  for (Forward* forward : running) {
    const bool still = std::find(running_.begin(), running_.end(), forward) != running_.end();
    if (still && forward->relay->in_tunnel() && forward->endpoint->retired()) forward->relay->cancel();
  }
}

void Cluster::stop() noexcept {
  stopped_ = true;
  retire();
  drain_timer_.disarm();
  const std::vector<Forward*> running = running_;
  for (Forward* forward : running) {
    const bool still = std::find(running_.begin(), running_.end(), forward) != running_.end();
    if (still) forward->relay->cancel();
  }
}

Cluster::Forward::Forward(std::shared_ptr<Cluster> cluster_, http::Exchange& exchange_,
                          const ForwardPlan& plan_)
    : cluster(std::move(cluster_)), options(cluster->options_), exchange(exchange_), plan(plan_) {
  if (cluster->relays_.empty()) {
    relay = std::make_unique<Relay>(cluster->loop_);
  } else {
    relay = std::move(cluster->relays_.back());
    cluster->relays_.pop_back();
  }
  cluster->running_.push_back(this);
}

Cluster::Forward::~Forward() {
  connection.reset();
  leave();
  relay->end();
  auto& running = cluster->running_;
  const auto mine = std::find(running.begin(), running.end(), this);
  *mine = running.back();
  running.pop_back();
  if (cluster->relays_.size() < kKeptRelays) cluster->relays_.push_back(std::move(relay));
}

void Cluster::Forward::take(std::shared_ptr<Endpoint> next) {
  endpoint = std::move(next);
  add_own(endpoint->stats().outstanding);
  result.endpoint = endpoint->name();
}

void Cluster::Forward::leave() noexcept {
  if (endpoint != nullptr) add_own(endpoint->stats().outstanding, -1);
  if (place != nullptr) cluster->shared_->release(place);
  endpoint.reset();
  place.reset();
}

}  // namespace weir::upstream
