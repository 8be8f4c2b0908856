// SPDX-License-Identifier: Apache-2.0
// The contract, kept by the Redis store on a real server whose scripts read a clock that the test sets.
#include "store/counter_store_contract.hpp"
#include "store/redis_world.hpp"
#include "support/redis_server.hpp"

namespace weir::redis {
extern const Script kStoredClockChain;
}

namespace weir::store {
namespace {

class ContractWorld final : public StoreWorld {
 public:
  ContractWorld() { EXPECT_TRUE(world_.ready()); }
  limit::CounterStore& store() override { return world_.store(); }
  void set_now(std::int64_t ms) override { client_.call({"SET", "test:now", std::to_string(ms)}); }
  void run(boost::asio::awaitable<void> work) override { world_.run(std::move(work)); }
  void finish() override { world_.drain(); }

 private:
  static test::RedisServer& server() {
    static test::RedisServer one;
    return one;
  }

  test::RespClient client_{server().port()};
  RedisWorld world_{server().port(), std::chrono::seconds(20), redis::kStoredClockChain};
};

std::unique_ptr<StoreWorld> make_redis() {
  return std::make_unique<ContractWorld>();
}

INSTANTIATE_TEST_SUITE_P(redis, CounterStoreContract, testing::Values(StoreMaker{"redis", make_redis}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace weir::store
