// SPDX-License-Identifier: Apache-2.0
// What an attempt meant for its endpoint, and whether there is another one.
#include <algorithm>

#include "base/own_count.hpp"
#include "upstream/cluster.hpp"

namespace weir::upstream {
namespace {

constexpr int kConnectsTried = 3;  // endpoints that may refuse a request before the client hears of it
constexpr std::int64_t kBackOffMs = 25;
constexpr std::int64_t kLongestBackOffMs = 400;

bool contains(const std::vector<int>& statuses, int status) noexcept {
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

std::uint64_t next_chance(std::uint64_t& state) noexcept {
  state += 0x9E3779B97F4A7C15;  // splitmix64
  std::uint64_t mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
  return mixed ^ (mixed >> 31);
}

bool is_refusal(ForwardError error) noexcept {
  return error == ForwardError::connect_failed || error == ForwardError::connect_timeout ||
         error == ForwardError::tls_failed;
}

}  // namespace

// A client that left and a pooled connection that was closed meanwhile say nothing about the endpoint.
void Cluster::record(Forward& forward, ForwardError error) {
  if (forward.endpoint == nullptr) return;
  Endpoint& endpoint = *forward.endpoint;
  const Relay& relay = *forward.relay;
  add_own(endpoint.stats().ended[static_cast<std::size_t>(error)]);
  if (forward.reason) {
    const auto outcome = error == ForwardError::none ? RetryOutcome::success : RetryOutcome::failure;
    auto& counts = forward.cluster->stats_.retries[static_cast<std::size_t>(*forward.reason)];
    add_own(counts[static_cast<std::size_t>(outcome)]);
  }
  if (error == ForwardError::client_gone || error == ForwardError::body_refused) return;
  SharedCluster& shared = *forward.cluster->shared_;
  const bool stale = error == ForwardError::reset && forward.connection != nullptr &&
                     forward.connection->reused() && !relay.answered();
  const bool answered = error == ForwardError::none || error == ForwardError::unwanted_status;
  const int status = error == ForwardError::none ? relay.upstream_status() : forward.refused_status;
  if (stale || forward.cluster->stopped_) return;
  if (!answered || contains(forward.options->ejection.statuses, status)) {
    shared.request_failed(*endpoint.shared());
  } else {
    shared.request_succeeded(*endpoint.shared());
  }
}

std::optional<RetryReason> Cluster::reason_for(const Forward& forward, ForwardError error) {
  if (is_refusal(error)) return RetryReason::connect;
  if (!forward.relay->may_repeat()) return {};
  if (error == ForwardError::unwanted_status) return RetryReason::status;
  if (error == ForwardError::response_timeout) return RetryReason::timeout;
  if (error != ForwardError::reset || forward.relay->answered()) return {};
  const bool pooled = forward.connection != nullptr && forward.connection->reused();
  return pooled && !forward.replaced ? RetryReason::stale : RetryReason::reset;
}

int Cluster::most_attempts(const Forward& forward) noexcept {
  const RetryOptions& retries = forward.options->retries;
  return forward.plan.terms == Terms::core ? retries.core_attempts : retries.attempts;
}

bool Cluster::pay(Forward& forward, RetryReason reason) {
  Cluster& cluster = *forward.cluster;
  if (!cluster.budget_.spend(forward.options->retries.budget_percent, cluster.loop_.now_ms())) {
    auto& counts = cluster.stats_.retries[static_cast<std::size_t>(reason)];
    add_own(counts[static_cast<std::size_t>(RetryOutcome::over_budget)]);
    return false;
  }
  ++forward.paid;
  return true;
}

// Free of charge, since they put no work upon the upstream: what it never got, and what a closed connection
// swallowed (each such connection can do so once).
bool Cluster::may_retry(Forward& forward, RetryReason reason) {
  const RetryOptions& retries = forward.options->retries;
  const bool another = forward.paid + 1 < most_attempts(forward);
  const bool first_replacement = !forward.replaced;
  switch (reason) {
    case RetryReason::stale:
      forward.replaced = true;
      return true;
    case RetryReason::connect:
      if (forward.cluster->endpoints_.size() > 1) return ++forward.connects_tried < kConnectsTried;
      return another && pay(forward, reason);
    case RetryReason::reset:
      forward.replaced = true;
      return retries.on_reset && (another || first_replacement) && pay(forward, reason);
    case RetryReason::timeout:
      return retries.on_timeout && another && pay(forward, reason);
    case RetryReason::status:
      break;
  }
  return true;  // paid for when the status came
}

// Called by the relay: whoever answers a retry status is asked again elsewhere, while that may be.
bool Cluster::refuses_status(void* context, int status) {
  Forward& forward = *static_cast<Forward*>(context);
  if (!contains(forward.options->retries.on_statuses, status)) return false;
  forward.refused_status = status;
  return pay(forward, RetryReason::status);
}

bool Cluster::another_attempt(Forward& forward, ForwardError error) {
  if (error == ForwardError::none || forward.endpoint == nullptr || forward.cluster->stopped_) return false;
  const auto reason = reason_for(forward, error);
  if (!reason || !may_retry(forward, *reason)) return false;
  if (is_refusal(error)) forward.endpoint->addresses().complain();
  forward.relay->rewind();
  forward.connection.reset();
  forward.tried.push_back(forward.endpoint.get());
  forward.reason = reason;
  forward.leave();
  const bool alone = forward.tried.size() >= forward.cluster->endpoints_.size();
  forward.back_off_ms = 0;
  if (*reason == RetryReason::stale || (!alone && forward.paid < 2)) return true;
  const std::int64_t longest = std::min(kBackOffMs << std::min(forward.paid, 8), kLongestBackOffMs);
  const auto chance = static_cast<std::int64_t>(next_chance(forward.cluster->chance_) >> 1);
  forward.back_off_ms = longest / 2 + chance % (longest / 2 + 1);
  return true;
}

void Cluster::conclude(Forward& forward, ForwardError error) {
  const Relay& relay = *forward.relay;
  ForwardResult& result = forward.result;
  result.error = error;
  result.upstream_status = relay.upstream_status();
  result.response_us = relay.response_us();
  result.cost_header = relay.cost().value;
  result.has_cost_header = relay.cost().present;
  if (forward.endpoint == nullptr) return;
  EndpointStats& stats = forward.endpoint->stats();
  if (result.upstream_status != 0) {
    add_own(stats.responses);
    add_own(stats.response_us_sum, static_cast<std::uint64_t>(result.response_us));
  }
  if (error == ForwardError::none && relay.connection_is_clean()) {
    forward.endpoint->give_back(std::move(forward.connection), *forward.options);
  }
  forward.connection.reset();
  forward.leave();
}

}  // namespace weir::upstream
