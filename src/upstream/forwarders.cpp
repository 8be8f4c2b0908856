// SPDX-License-Identifier: Apache-2.0
#include "upstream/forwarders.hpp"

#include <algorithm>

#include "upstream/cluster.hpp"

namespace weir::upstream {

Forwarders::Forwarders(net::EventLoop& loop) : loop_(loop) {}

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
      next.push_back(std::make_shared<Cluster>(loop_, options));
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

}  // namespace weir::upstream
