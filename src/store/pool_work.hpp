// SPDX-License-Identifier: Apache-2.0
// What a PoolStore knows of a set on its way. Seen by its own sources only.
#pragma once

#include <array>

#include "store/chain_part.hpp"
#include "store/pool_store.hpp"

namespace weir::store {

// By layer.
struct PoolStore::Work {
  std::array<PoolAnswer, limit::kMaxLayers> answer;
  std::array<bool, limit::kMaxLayers> asked;
  std::array<limit::Lease, limit::kMaxLayers> lease;  // the region's, of layers that are missing
  ChainPart missing;
  PoolCall call;
  PoolCall::Reports reports = PoolCall::Reports::yes;
  bool refused = false;
};

// The pool has none of it.
inline bool is_missing(const PoolAnswer& found, const limit::Charge& charge) {
  return found.status == PoolAnswer::Status::empty && charge.request.cost > 0;
}

}  // namespace weir::store
