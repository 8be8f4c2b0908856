// SPDX-License-Identifier: Apache-2.0
// Keeps the concurrency slots of running requests alive: a slot expires by itself within 5 s when its gateway
// dies, so a gateway that lives renews the slots of its long requests. One per worker.
#pragma once

#include <cstddef>
#include <vector>

#include "pipeline/request_context.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::pipeline {

class SlotKeeper {
 public:
  static constexpr int kRenewEveryMs = 1500;

  explicit SlotKeeper(limit::CounterStore& store) : store_(store) {}

  void add(RequestContext& context) { held_.push_back(&context); }

  // Releases the slots now; the request is over.
  void release(RequestContext& context) noexcept;

  // Called by the worker every kRenewEveryMs.
  void renew_all();

  std::size_t held() const noexcept { return held_.size(); }

 private:
  limit::CounterStore& store_;
  std::vector<RequestContext*> held_;
};

}  // namespace weir::pipeline
