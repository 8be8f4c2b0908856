// SPDX-License-Identifier: Apache-2.0
// The life of one request: gateway_handler.cpp's handle() is its table of contents.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>

#include "pipeline/request_context.hpp"
#include "pipeline/request_sink.hpp"
#include "pipeline/runtime_slot.hpp"
#include "pipeline/slot_keeper.hpp"
#include "upstream/forwarders.hpp"
#include "weir/base/clock.hpp"
#include "weir/http/exchange.hpp"
#include "weir/limit/counter_store.hpp"

namespace weir::pipeline {

// One per worker, on its thread only.
class GatewayHandler final : public http::Handler {
 public:
  struct Services {
    boost::asio::any_io_executor executor;  // the worker's, for holding requests back
    const Clock& clock;
    const RuntimeSlot& runtime;
    limit::CounterStore& store;
    SlotKeeper& slots;
    upstream::Forwarders& forwarders;
    RequestSink& sink;
    std::uint64_t owner_base;  // first concurrency owner id of this worker; unique over the fleet by chance
  };
  explicit GatewayHandler(const Services& services) : services_(services), next_owner_(services.owner_base) {}

  boost::asio::awaitable<void> handle(http::Exchange& exchange) override;
  void refused(int status, std::string_view reason) noexcept override;

 private:
  void open(http::Exchange& exchange, RequestContext& context);
  bool identify(http::Exchange& exchange, RequestContext& context);
  void build_charges(RequestContext& context);
  bool judge_now(RequestContext& context);
  boost::asio::awaitable<void> judge(http::Exchange& exchange, RequestContext& context);
  void conclude(RequestContext& context);
  boost::asio::awaitable<bool> hold(http::Exchange& exchange, std::int64_t wait_ms);
  void plan_forward(const http::Exchange& exchange, RequestContext& context);

  http::LocalReply identity_reply(const http::Exchange& exchange, RequestContext& context);
  http::LocalReply preflight_reply(const http::Exchange& exchange, RequestContext& context);
  http::LocalReply refusal_reply(const http::Exchange& exchange, RequestContext& context);
  http::LocalReply no_route_reply(const http::Exchange& exchange, RequestContext& context);

  Services services_;
  RequestContextPool contexts_;
  std::uint64_t next_owner_;
  std::size_t held_ = 0;
};

}  // namespace weir::pipeline
