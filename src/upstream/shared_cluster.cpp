// SPDX-License-Identifier: Apache-2.0
#include "upstream/shared_cluster.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "telemetry/log.hpp"

namespace weir::upstream {

std::string endpoint_name(const EndpointOptions& options) {
  if (options.host.starts_with("unix:")) return options.host;
  const bool bare_ipv6 = options.host.find(':') != std::string::npos;
  return (bare_ipv6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

SharedCluster::SharedCluster(const Clock& clock, const ClusterOptions& options)
    : clock_(clock), name_(options.name) {
  update(options);
}

void SharedCluster::update(const ClusterOptions& options) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<SharedEndpoint>> next;
  for (const EndpointOptions& wanted : options.endpoints) {
    const std::string name = endpoint_name(wanted);
    const auto same = std::find_if(endpoints_.begin(), endpoints_.end(),
                                   [&](const auto& one) { return one->name == name; });
    next.push_back(same != endpoints_.end() ? *same : std::make_shared<SharedEndpoint>(name));
  }
  endpoints_ = std::move(next);
  options_ = options;
  for (const auto& one : endpoints_) {
    if (options_.health.path.empty() && one->health.forget_checks(clock_.monotonic_ms())) publish(*one);
    serve_queue(one);
  }
}

std::shared_ptr<SharedEndpoint> SharedCluster::endpoint(const EndpointOptions& options) {
  const std::string name = endpoint_name(options);
  const std::lock_guard lock(mutex_);
  for (const auto& one : endpoints_) {
    if (one->name == name) return one;
  }
  endpoints_.push_back(std::make_shared<SharedEndpoint>(name));
  return endpoints_.back();
}

std::vector<std::shared_ptr<SharedEndpoint>> SharedCluster::endpoints() const {
  const std::lock_guard lock(mutex_);
  return endpoints_;
}

ClusterOptions SharedCluster::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void SharedCluster::request_failed(SharedEndpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  endpoint.health.tick(clock_.monotonic_ms());
  const auto leave = may_eject(endpoint);
  const bool ejected = endpoint.health.request_failed(options_.ejection, leave, clock_.monotonic_ms());
  publish(endpoint);
  if (!ejected) return;
  endpoint.ejections.fetch_add(1, std::memory_order_relaxed);
  report(endpoint, "is left out for a while: its requests failed");
}

void SharedCluster::forgive(SharedEndpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  endpoint.health.request_succeeded();
  publish(endpoint);
}

void SharedCluster::check_passed(SharedEndpoint& endpoint) {
  endpoint.checks_passed.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (!endpoint.health.check_passed(options_.health, clock_.monotonic_ms())) return;
  publish(endpoint);
  report(endpoint, "is healthy again");
  for (const auto& one : endpoints_) serve_queue(one);
}

void SharedCluster::check_failed(SharedEndpoint& endpoint, std::string_view why) {
  endpoint.checks_failed.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (!endpoint.health.check_failed(options_.health, clock_.monotonic_ms())) return;
  publish(endpoint);
  report(endpoint, "is unhealthy: " + std::string(why));
}

void SharedCluster::tick() {
  const std::lock_guard lock(mutex_);
  for (const auto& one : endpoints_) {
    if (!one->health.tick(clock_.monotonic_ms())) continue;
    publish(*one);
    report(*one, "is used again after its time out");
    serve_queue(one);
  }
}

EndpointHealth::Leave SharedCluster::may_eject(const SharedEndpoint& endpoint) const noexcept {
  std::size_t out = 0;
  for (const auto& one : endpoints_) {
    if (one.get() != &endpoint && one->health.out_until_ms() != 0) ++out;
  }
  const std::size_t most = endpoints_.size() * static_cast<std::size_t>(options_.ejection.max_percent) / 100;
  const bool one_of_several = out == 0 && endpoints_.size() > 1;
  return out < most || one_of_several ? EndpointHealth::Leave::granted : EndpointHealth::Leave::refused;
}

void SharedCluster::publish(SharedEndpoint& endpoint) noexcept {
  const EndpointHealth& health = endpoint.health;
  endpoint.out_until_ms.store(health.out_until_ms(), std::memory_order_relaxed);
  endpoint.back_since_ms.store(health.back_since_ms(), std::memory_order_relaxed);
  endpoint.failures.store(health.failures(), std::memory_order_relaxed);
}

void SharedCluster::report(const SharedEndpoint& endpoint, std::string_view what) const {
  const bool back = endpoint.health.out_until_ms() == 0;
  const auto level = back ? telemetry::LogLevel::info : telemetry::LogLevel::warn;
  const std::string line = name_ + ": endpoint " + endpoint.name + " " + std::string(what);
  telemetry::log_line(level, back ? "upstream.endpoint_in" : "upstream.endpoint_out", line);
}

bool SharedCluster::take_place(SharedEndpoint& endpoint) noexcept {
  const std::size_t most = options_.cap.max_connections;
  const std::size_t used = endpoint.in_use.load(std::memory_order_relaxed);
  if (most != 0 && used >= most) return false;
  endpoint.in_use.store(used + 1, std::memory_order_relaxed);
  return true;
}

// Whoever waits was there first.
bool SharedCluster::try_acquire(SharedEndpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && take_place(endpoint);
}

void SharedCluster::release(const std::shared_ptr<SharedEndpoint>& endpoint) {
  const std::lock_guard lock(mutex_);
  endpoint->in_use.fetch_sub(1, std::memory_order_relaxed);
  const bool configured = std::find(endpoints_.begin(), endpoints_.end(), endpoint) != endpoints_.end();
  if (configured) serve_queue(endpoint);
}

void SharedCluster::serve_queue(const std::shared_ptr<SharedEndpoint>& endpoint) {
  while (!queue_.empty() && is_wanted(*endpoint) && take_place(*endpoint)) {
    const std::shared_ptr<QueueTicket> first = std::move(queue_.front());
    queue_.pop_front();
    waiting_.store(queue_.size(), std::memory_order_relaxed);
    first->granted = endpoint;
    boost::asio::post(first->io, [first] {
      if (first->waiter != nullptr) first->waiter->wake(net::Wake::ready);
    });
  }
}

// Where all are out of service, each is as good as the others.
bool SharedCluster::is_wanted(const SharedEndpoint& endpoint) const noexcept {
  const std::int64_t now = clock_.monotonic_ms();
  return endpoint.in_service(now) || std::none_of(endpoints_.begin(), endpoints_.end(),
                                                  [now](const auto& one) { return one->in_service(now); });
}

SharedCluster::Queued SharedCluster::enqueue(const std::shared_ptr<QueueTicket>& ticket) {
  const std::lock_guard lock(mutex_);
  // A place may have become free since try_acquire() failed.
  for (const auto& one : endpoints_) {
    if (!queue_.empty() || !is_wanted(*one) || !take_place(*one)) continue;
    ticket->granted = one;
    return Queued::granted;
  }
  if (queue_.size() >= options_.cap.queue_size) {
    queue_full.fetch_add(1, std::memory_order_relaxed);
    return Queued::full;
  }
  queue_.push_back(ticket);
  waiting_.store(queue_.size(), std::memory_order_relaxed);
  return Queued::waits;
}

std::shared_ptr<SharedEndpoint> SharedCluster::leave(const std::shared_ptr<QueueTicket>& ticket) {
  const std::lock_guard lock(mutex_);
  ticket->waiter = nullptr;
  if (ticket->granted == nullptr) {
    std::erase(queue_, ticket);
    waiting_.store(queue_.size(), std::memory_order_relaxed);
  }
  return std::move(ticket->granted);
}

void SharedClusters::update(const std::vector<ClusterOptions>& clusters) {
  std::vector<std::shared_ptr<SharedCluster>> next;
  for (const ClusterOptions& options : clusters) {
    next.push_back(cluster(options));
    next.back()->update(options);
  }
  const std::lock_guard lock(mutex_);
  clusters_ = std::move(next);
}

std::shared_ptr<SharedCluster> SharedClusters::cluster(const ClusterOptions& options) {
  const std::lock_guard lock(mutex_);
  for (const auto& one : clusters_) {
    if (one->name() == options.name) return one;
  }
  clusters_.push_back(std::make_shared<SharedCluster>(clock_, options));
  return clusters_.back();
}

std::vector<std::shared_ptr<SharedCluster>> SharedClusters::all() const {
  const std::lock_guard lock(mutex_);
  return clusters_;
}

}  // namespace weir::upstream
