// SPDX-License-Identifier: Apache-2.0
// The contract, kept by the lease store: over memory, and over Redis.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "store/counter_store_contract.hpp"
#include "store/fake_clock.hpp"
#include "store/lease_store.hpp"
#include "store/memory_store.hpp"
#include "store/redis_world.hpp"
#include "support/redis_server.hpp"

namespace weir::redis {
extern const Script kLeaseStoredClockChain;
}

namespace weir::store {
namespace {

LeaseOptions leased() {
  LeaseOptions options;
  options.counting = Counting::leased;
  return options;
}

class OverMemory final : public StoreWorld {
 public:
  limit::CounterStore& store() override { return leases_; }
  void set_now(std::int64_t ms) override { clock_.set(ms); }
  void run(boost::asio::awaitable<void> work) override {
    boost::asio::co_spawn(loop_, std::move(work), boost::asio::detached);
    loop_.restart();
    loop_.poll();
  }
  void finish() override {
    loop_.restart();
    loop_.poll();
  }

 private:
  FakeClock clock_;
  boost::asio::io_context loop_;
  MemoryStore memory_{10'000, clock_};
  LeasePool pool_{leased()};
  LeaseStore leases_{loop_.get_executor(), pool_, memory_, clock_};
};

class OverRedis final : public StoreWorld {
 public:
  OverRedis() { EXPECT_TRUE(world_.ready()); }
  ~OverRedis() override { leases_.close(); }
  limit::CounterStore& store() override { return leases_; }
  void set_now(std::int64_t ms) override {
    clock_.set(ms);
    client_.call({"SET", "test:now", std::to_string(ms)});
  }
  void run(boost::asio::awaitable<void> work) override { world_.run(std::move(work)); }
  void finish() override { world_.drain(); }

 private:
  static test::RedisServer& server() {
    static test::RedisServer one;
    return one;
  }

  FakeClock clock_;
  test::RespClient client_{server().port()};
  RedisWorld world_{server().port(), std::chrono::seconds(20), redis::kLeaseStoredClockChain};
  LeasePool pool_{leased()};
  LeaseStore leases_{world_.loop().get_executor(), pool_, world_.store(), clock_};
};

template <class World>
std::unique_ptr<StoreWorld> make() {
  return std::make_unique<World>();
}

INSTANTIATE_TEST_SUITE_P(lease, CounterStoreContract,
                         testing::Values(StoreMaker{"over_memory", make<OverMemory>},
                                         StoreMaker{"over_redis", make<OverRedis>}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace weir::store
