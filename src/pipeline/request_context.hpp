// SPDX-License-Identifier: Apache-2.0
// Everything the pipeline knows about one request, pooled per worker: strings keep their capacity, so the
// steady path allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "identity/extractor.hpp"
#include "pipeline/runtime.hpp"
#include "weir/limit/decision.hpp"
#include "weir/limit/limiter_chain.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::pipeline {

struct RequestContext {
  std::shared_ptr<const Runtime> runtime;  // the one configuration this request sees
  identity::Extraction extraction;
  std::array<limit::DescriptorEntry, identity::kMaxDimensions> facts;  // as many as there are dimensions
  const Route* route = nullptr;                                        // nullptr: no route matches
  limit::ChargeSet charges;
  limit::Decision decision;
  std::int64_t cost = 1;
  std::uint64_t owner = 0;  // of its concurrency slots
  bool decided = false;
  upstream::ForwardPlan plan;
  upstream::ForwardResult forwarded;

  std::string request_id;
  std::string request_fields;   // for the upstream
  std::string response_fields;  // for the client
  std::string body;             // of a local reply
  std::string target;           // for the upstream, where it differs from the client's

  std::int64_t started_us = 0;
  std::int64_t limiter_us = 0;
  std::int64_t wall_ms = 0;

  // Makes it ready for the next request; keeps capacities.
  void reset() noexcept;

  bool holds_slots() const noexcept;  // a concurrency layer was charged
};

// Hands out contexts; single-threaded. A returned context keeps its memory.
class RequestContextPool {
 public:
  struct Return {
    RequestContextPool* pool = nullptr;
    void operator()(RequestContext* context) const noexcept { pool->give_back(context); }
  };
  using Pointer = std::unique_ptr<RequestContext, Return>;

  Pointer take();

 private:
  void give_back(RequestContext* context) noexcept;
  std::vector<std::unique_ptr<RequestContext>> free_;
};

}  // namespace weir::pipeline
