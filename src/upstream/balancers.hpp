// SPDX-License-Identifier: Apache-2.0
// Which endpoint takes the next request. Pure, but for a counter that makes endpoints take turns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

class Endpoint;
using Endpoints = std::vector<std::shared_ptr<Endpoint>>;

// round_robin: in turn. least_request: the fewest outstanding requests of this worker; equals take turns.
class Balancer {
 public:
  // nullptr only without endpoints. `avoid` (may be nullptr) is chosen only where there is no other.
  std::shared_ptr<Endpoint> pick(const Endpoints& endpoints, Balance balance, const Endpoint* avoid) noexcept;

 private:
  std::size_t turn_ = 0;
};

}  // namespace weir::upstream
