// SPDX-License-Identifier: Apache-2.0
// The one place that emits access log, metrics and settlement, on every way out of a request.
#pragma once

#include "pipeline/request_context.hpp"
#include "pipeline/request_sink.hpp"
#include "pipeline/slot_keeper.hpp"
#include "weir/http/exchange.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::pipeline {

std::string_view outcome_name(limit::Outcome outcome) noexcept;
std::string_view forward_error_name(upstream::ForwardError error) noexcept;

class Finish {
 public:
  Finish(http::Exchange& exchange, RequestContext& context, RequestSink& sink, SlotKeeper& slots,
         limit::CounterStore& store)
      : exchange_(exchange), context_(context), sink_(sink), slots_(slots), store_(store) {}
  Finish(const Finish&) = delete;
  Finish& operator=(const Finish&) = delete;
  ~Finish();

 private:
  void settle() noexcept;
  void emit() noexcept;

  http::Exchange& exchange_;
  RequestContext& context_;
  RequestSink& sink_;
  SlotKeeper& slots_;
  limit::CounterStore& store_;
  std::int64_t true_cost_ = 0;  // 0: nothing was settled
};

}  // namespace weir::pipeline
