// SPDX-License-Identifier: Apache-2.0
#include "store/redis_store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/stopwatch.hpp"
#include "redis/cluster_caller.hpp"
#include "redis/sentinel.hpp"
#include "store/chain_call.hpp"

namespace weir::store {

struct RedisStore::Link {
  Link(std::shared_ptr<redis::ScriptCaller> to, std::chrono::milliseconds limit, const redis::Script& what)
      : caller(std::move(to)), script(what), timeout(limit) {}

  redis::TimePoint deadline() const { return std::chrono::steady_clock::now() + timeout; }

  void count(const error_code& error) {
    const bool known = error.category() == redis::category();
    const auto kind = known ? error.value() : static_cast<int>(redis::ErrorKind::other);
    stats.errors[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  }

  std::shared_ptr<redis::ScriptCaller> caller;
  const redis::Script& script;
  std::chrono::milliseconds timeout;
  RedisStoreStats stats;
};

redis::ConnectionOptions connection_options(const StoreOptions& options) {
  redis::ConnectionOptions connection;
  connection.host = options.host;
  connection.port = options.port;
  connection.unix_path = options.unix_path;
  connection.database = options.database;
  connection.username = options.username;
  connection.password = options.password;
  connection.tls = options.tls;
  return connection;
}

std::shared_ptr<redis::ScriptCaller> make_caller(redis::Executor executor, const StoreOptions& options,
                                                 std::shared_ptr<StoreCheck> check,
                                                 std::size_t max_reply_bytes) {
  redis::ConnectionOptions connection = connection_options(options);
  connection.max_reply_bytes = max_reply_bytes;
  if (check != nullptr) {
    check->wants_cluster = !options.cluster.empty();
    connection.on_ready = [check = std::move(check)](const std::shared_ptr<redis::Connection>& to) {
      boost::asio::co_spawn(to->executor(), look_at(to, check), boost::asio::detached);
    };
  }
  const auto addresses = [](const std::vector<StoreAddress>& from) {
    std::vector<redis::Address> to;
    for (const StoreAddress& one : from) to.push_back({one.host, one.port});
    return to;
  };
  if (!options.cluster.empty()) {
    redis::ClusterOptions cluster;
    cluster.seeds = addresses(options.cluster);
    cluster.node = std::move(connection);
    return redis::ClusterCaller::start(executor, std::move(cluster));
  }
  if (!options.sentinels.empty()) {
    redis::SentinelOptions sentinel{addresses(options.sentinels), options.host, options.sentinel_username,
                                    options.sentinel_password, options.tls};
    connection.finder = std::make_shared<redis::Sentinels>(executor, std::move(sentinel));
    // The primary that Sentinel names next is up already: what passes before it is asked again is lost time.
    connection.backoff_max = std::chrono::seconds(1);
  }
  return std::make_shared<redis::SingleCaller>(redis::Connection::start(executor, std::move(connection)));
}

RedisStore::RedisStore(std::shared_ptr<redis::ScriptCaller> caller, std::chrono::milliseconds timeout,
                       const redis::Script& script)
    : link_(std::make_shared<Link>(std::move(caller), timeout, script)) {}

RedisStore::~RedisStore() = default;

bool RedisStore::decide_now(limit::ChargeSet&) {
  return false;
}

boost::asio::awaitable<void> RedisStore::decide(limit::ChargeSet& set) {
  return ask(set, "decide");
}

boost::asio::awaitable<void> RedisStore::peek(limit::ChargeSet& set) {
  return ask(set, "peek");
}

void RedisStore::settle(const limit::ChargeSet& set, std::int64_t delta) {
  if (delta != 0) tell(set, "settle", delta);
}

void RedisStore::release(const limit::ChargeSet& set) {
  tell(set, "release", 0);
}

void RedisStore::renew(const limit::ChargeSet& set) {
  tell(set, "renew", 0);
}

const RedisStoreStats& RedisStore::stats() const noexcept {
  return link_->stats;
}

const redis::ConnectionStats& RedisStore::connection_stats() const noexcept {
  return link_->caller->stats();
}

redis::ScriptCaller& RedisStore::caller() noexcept {
  return *link_->caller;
}

std::uint64_t RedisStore::script_reloads() const noexcept {
  return link_->caller->reloads();
}

// Settled sets may be anything, also empty: those are not sent.
redis::Slot RedisStore::slot_of(const limit::ChargeSet& set) const {
  const bool matters = link_->caller->sharded() && set.size > 0;
  return matters ? redis::slot_of(set.charge[0].key) : redis::Slot{0};
}

boost::asio::awaitable<void> RedisStore::ask(limit::ChargeSet& set, std::string_view operation) {
  set.store_error = {};
  std::unique_ptr<redis::ScriptArguments> arguments;
  if (spare_.empty()) {
    arguments = std::make_unique<redis::ScriptArguments>();
  } else {
    arguments = std::move(spare_.back());
    spare_.pop_back();
  }
  arguments->clear();
  write_question(set, operation, *arguments);
  link_->stats.calls.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t began_us = monotonic_us();
  const redis::TimePoint deadline = link_->deadline();
  const redis::Slot slot = slot_of(set);
  const Result<redis::Reply> reply = co_await link_->caller->call(link_->script, slot, *arguments, deadline);
  link_->stats.call_us.observe(monotonic_us() - began_us);
  spare_.push_back(std::move(arguments));
  if (!reply) {
    set.store_error = reply.error();
  } else if (!read_answer(*reply, set)) {
    set.store_error = redis::make_error_code(redis::ErrorKind::protocol);
    link_->caller->distrust(slot);
  }
  if (set.store_error) link_->count(set.store_error);
}

void RedisStore::tell(const limit::ChargeSet& set, std::string_view operation, std::int64_t delta) {
  redis::ScriptArguments arguments;
  if (!write_notice(set, operation, delta, arguments)) return;
  boost::asio::co_spawn(link_->caller->executor(), deliver(link_, slot_of(set), std::move(arguments)),
                        boost::asio::detached);
}

boost::asio::awaitable<void> RedisStore::deliver(std::shared_ptr<Link> link, redis::Slot slot,
                                                 redis::ScriptArguments arguments) {
  const redis::TimePoint deadline = link->deadline();
  const Result<redis::Reply> reply = co_await link->caller->call(link->script, slot, arguments, deadline);
  if (!reply) link->count(reply.error());
}

}  // namespace weir::store
