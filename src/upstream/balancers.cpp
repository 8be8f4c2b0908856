// SPDX-License-Identifier: Apache-2.0
#include "upstream/balancers.hpp"

#include "upstream/endpoint.hpp"

namespace weir::upstream {

std::shared_ptr<Endpoint> Balancer::pick(const Endpoints& endpoints, Balance balance,
                                         const Endpoint* avoid) noexcept {
  if (endpoints.empty()) return nullptr;
  const std::size_t start = turn_++;
  const std::shared_ptr<Endpoint>* best = nullptr;
  std::int64_t fewest = 0;
  for (std::size_t n = 0; n < endpoints.size(); ++n) {
    const auto& endpoint = endpoints[(start + n) % endpoints.size()];
    if (endpoint.get() == avoid) continue;
    if (balance == Balance::round_robin) return endpoint;
    const std::int64_t outstanding = endpoint->stats().outstanding.load(std::memory_order_relaxed);
    if (best != nullptr && outstanding >= fewest) continue;
    best = &endpoint;
    fewest = outstanding;
  }
  return best != nullptr ? *best : endpoints[start % endpoints.size()];
}

}  // namespace weir::upstream
