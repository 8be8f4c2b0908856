// SPDX-License-Identifier: Apache-2.0
// The contract, kept by the memory store.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "store/counter_store_contract.hpp"
#include "store/fake_clock.hpp"
#include "store/memory_store.hpp"

namespace weir::store {
namespace {

class MemoryWorld final : public StoreWorld {
 public:
  explicit MemoryWorld(std::size_t max_keys) : store_(max_keys, clock_) {}
  limit::CounterStore& store() override { return store_; }
  void set_now(std::int64_t ms) override { clock_.set(ms); }
  void run(boost::asio::awaitable<void> work) override {
    boost::asio::io_context context;
    boost::asio::co_spawn(context, std::move(work), boost::asio::detached);
    context.run();
  }
  void finish() override {}

 private:
  FakeClock clock_;
  MemoryStore store_;
};

std::unique_ptr<StoreWorld> make_memory() {
  return std::make_unique<MemoryWorld>(10'000);
}

INSTANTIATE_TEST_SUITE_P(memory, CounterStoreContract, testing::Values(StoreMaker{"memory", make_memory}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace weir::store
