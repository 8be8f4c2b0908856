// SPDX-License-Identifier: Apache-2.0
#include "pipeline/request_context.hpp"

namespace weir::pipeline {
namespace {

// Idle contexts beyond this many go back to the heap: a burst must not hold its memory for ever.
constexpr std::size_t kIdleContexts = 1024;

}  // namespace

void RequestContext::reset() noexcept {
  runtime.reset();
  extraction = identity::Extraction();
  route = nullptr;
  charges.clear();
  decision = limit::Decision();
  cost = 1;
  owner = 0;
  decided = false;
  plan = upstream::ForwardPlan();
  forwarded = upstream::ForwardResult();
  request_id.clear();
  request_fields.clear();
  response_fields.clear();
  body.clear();
  target.clear();
  started_us = limiter_us = wall_ms = 0;
}

bool RequestContext::holds_slots() const noexcept {
  for (const limit::Charge& charge : charges.charges()) {
    if (charge.charged && charge.is_slot()) return true;
  }
  return false;
}

RequestContextPool::Pointer RequestContextPool::take() {
  if (free_.empty()) return Pointer(new RequestContext, Return{this});
  RequestContext* context = free_.back().release();
  free_.pop_back();
  return Pointer(context, Return{this});
}

void RequestContextPool::give_back(RequestContext* context) noexcept {
  std::unique_ptr<RequestContext> owned(context);
  if (free_.size() >= kIdleContexts) return;
  owned->reset();
  if (free_.capacity() == free_.size()) free_.reserve(free_.size() * 2 + 16);
  free_.push_back(std::move(owned));
}

}  // namespace weir::pipeline
