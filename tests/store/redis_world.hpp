// SPDX-License-Identifier: Apache-2.0
// A RedisStore over a real connection and a loop of its own, and charges written by hand.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>

#include "redis/resp.hpp"
#include "store/redis_store.hpp"
#include "support/await.hpp"

namespace weir::store {

class RedisWorld {
 public:
  explicit RedisWorld(std::uint16_t port, std::chrono::milliseconds timeout = std::chrono::seconds(20),
                      const redis::Script& script = redis::kChain)
      : connection_(redis::Connection::start(loop_.get_executor(), options(port))),
        store_(std::make_shared<redis::SingleCaller>(connection_), timeout, script) {}
  ~RedisWorld() {
    connection_->close();
    loop_.restart();
    loop_.run();
  }

  // The first connection, or the next one after it was lost.
  bool ready() {
    return run(connection_->wait_ready(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  }
  template <class T>
  T run(boost::asio::awaitable<T> work) {
    return test::await(loop_, std::move(work));
  }
  // What was asked of the store before is carried out: it is ahead in the pipeline.
  void drain() { run(ping(*connection_)); }

  boost::asio::io_context& loop() { return loop_; }
  redis::Connection& connection() { return *connection_; }
  RedisStore& store() { return store_; }
  std::uint64_t errors(redis::ErrorKind kind) const {
    return store_.stats().errors[static_cast<std::size_t>(kind)];
  }

 private:
  static redis::ConnectionOptions options(std::uint16_t port) {
    StoreOptions from;
    from.port = port;
    redis::ConnectionOptions to = connection_options(from);
    to.backoff_min = std::chrono::milliseconds(2);
    to.backoff_max = std::chrono::milliseconds(20);
    return to;
  }
  static boost::asio::awaitable<void> ping(redis::Connection& connection) {
    std::string request;
    redis::append_command(request, {"PING"});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    co_await connection.execute(request, deadline, boost::asio::use_awaitable);
  }

  boost::asio::io_context loop_;
  std::shared_ptr<redis::Connection> connection_;
  RedisStore store_;
};

inline limit::Policy policy_of(limit::AlgorithmKind kind, std::int64_t limit,
                               std::int64_t window_ms = 60'000) {
  limit::Policy policy;
  policy.layer = limit::name_of(kind);
  policy.terms = {kind, limit, window_ms, limit, 0, 10, false};
  return policy;
}

// The policy must outlive the set.
inline limit::Charge& add_layer(limit::ChargeSet& set, const limit::Policy& policy, std::string_view key,
                                std::int64_t cost = 1) {
  char* const place = set.keys.data() + set.keys_used;
  std::memcpy(place, key.data(), key.size());
  set.keys_used += key.size();
  limit::Charge& charge = set.charge[set.size++];
  charge = limit::Charge();
  charge.policy = &policy;
  charge.key = {place, key.size()};
  charge.request.cost = cost;
  charge.request.owner = 1;
  charge.enforcement = policy.enforcement;
  return charge;
}

inline constexpr limit::AlgorithmKind kAllAlgorithms[] = {
    limit::AlgorithmKind::fixed_window,    limit::AlgorithmKind::sliding_window,
    limit::AlgorithmKind::sliding_counter, limit::AlgorithmKind::sliding_log,
    limit::AlgorithmKind::token_bucket,    limit::AlgorithmKind::gcra,
    limit::AlgorithmKind::leaky_bucket,    limit::AlgorithmKind::concurrency};

}  // namespace weir::store
