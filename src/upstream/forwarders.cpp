// SPDX-License-Identifier: Apache-2.0
#include "upstream/forwarders.hpp"

#include <algorithm>

#include "upstream/cluster.hpp"
#include "upstream/shared_cluster.hpp"

namespace weir::upstream {

Forwarders::Forwarders(net::EventLoop& loop, std::shared_ptr<SharedClusters> shared)
    : loop_(loop), shared_(std::move(shared)) {}

Forwarders::Forwarders(net::EventLoop& loop)
    : Forwarders(loop, std::make_shared<SharedClusters>(loop.clock())) {}

Forwarders::~Forwarders() {
  stop();
}

void Forwarders::update(const std::vector<ClusterOptions>& clusters) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Cluster>> next;
  for (const ClusterOptions& options : clusters) {
    const auto same = std::find_if(clusters_.begin(), clusters_.end(),
                                   [&options](const auto& one) { return one->name() == options.name; });
    if (same == clusters_.end()) {
      next.push_back(std::make_shared<Cluster>(loop_, options, shared_->cluster(options)));
      continue;
    }
    (*same)->update(options);
    next.push_back(*same);
  }
  for (const auto& cluster : clusters_) {
    if (std::find(next.begin(), next.end(), cluster) == next.end()) cluster->retire();
  }
  clusters_ = std::move(next);
}

Forwarder* Forwarders::find(std::string_view cluster) noexcept {
  for (const auto& one : clusters_) {
    if (one->name() == cluster) return one.get();
  }
  return nullptr;
}

void Forwarders::stop() noexcept {
  const std::vector<std::shared_ptr<Cluster>> clusters = clusters_;
  for (const auto& cluster : clusters) cluster->stop();
}

void Forwarders::each_endpoint(const std::function<void(std::string_view cluster, std::string_view endpoint,
                                                        const EndpointStats& stats)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& cluster : clusters_) {
    for (const auto& endpoint : cluster->endpoints())
      visit(cluster->name(), endpoint->name(), endpoint->stats());
  }
}

void Forwarders::each_cluster(
    const std::function<void(std::string_view cluster, const ClusterStats& stats)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& cluster : clusters_) visit(cluster->name(), cluster->stats());
}

}  // namespace weir::upstream
