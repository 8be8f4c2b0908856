// SPDX-License-Identifier: Apache-2.0
// What each layer's limit is worth: where it is counted, how at the moment, and by how much it may be
// exceeded at worst (store/overshoot.hpp), now and if the store fails. GET /limits and the status page show
// it.
#pragma once

#include <optional>
#include <string>

#include "store/overshoot.hpp"
#include "weir/limit/limiter_chain.hpp"

namespace weir::app {

// A store as it is now.
struct StoreNow {
  const store::StoreOptions& options;
  std::size_t instances = 1;  // that share it, as last heard
  store::StoreHealth health = store::StoreHealth::healthy;
};

struct StoresNow {
  StoreNow own;
  std::optional<StoreNow> parent;  // of the layers of all regions
};

// One JSON object for a policy of the chain that counts by `accounting`: scope, instances, counted, ladder,
// and `overshoot` with what holds now, while the store is briefly or for long ill, and if it forgets.
void append_promise(std::string& out, const limit::Policy& policy, limit::Accounting accounting,
                    const StoresNow& stores);

// All layers of a chain with their default limits.
std::string promises_json(const limit::LimiterChain& chain, const StoresNow& stores);

}  // namespace weir::app
