// SPDX-License-Identifier: Apache-2.0
#include "store/redis_store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "redis/cluster_caller.hpp"
#include "redis/sentinel.hpp"

namespace weir::store {

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
    : chain_(std::make_shared<ChainCaller>(std::move(caller), timeout, script)) {}

RedisStore::~RedisStore() = default;

bool RedisStore::decide_now(limit::ChargeSet&) {
  return false;
}

boost::asio::awaitable<void> RedisStore::decide(limit::ChargeSet& set) {
  return chain_->decide(set);
}

boost::asio::awaitable<void> RedisStore::peek(limit::ChargeSet& set) {
  return chain_->peek(set);
}

void RedisStore::settle(const limit::ChargeSet& set, std::int64_t delta) {
  if (delta != 0) chain_->tell(set, "settle", delta);
}

void RedisStore::release(const limit::ChargeSet& set) {
  chain_->tell(set, "release", 0);
}

void RedisStore::renew(const limit::ChargeSet& set) {
  chain_->tell(set, "renew", 0);
}

const RedisStoreStats& RedisStore::stats() const noexcept {
  return chain_->stats();
}

const redis::ConnectionStats& RedisStore::connection_stats() const noexcept {
  return chain_->caller().stats();
}

redis::ScriptCaller& RedisStore::caller() noexcept {
  return chain_->caller();
}

std::uint64_t RedisStore::script_reloads() const noexcept {
  return chain_->caller().reloads();
}

}  // namespace weir::store
