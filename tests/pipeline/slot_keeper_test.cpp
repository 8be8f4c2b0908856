// SPDX-License-Identifier: Apache-2.0
#include "pipeline/slot_keeper.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace weir::pipeline {
namespace {

// Counts what is given back and renewed; never asked to decide.
class CountingStore final : public limit::CounterStore {
 public:
  bool decide_now(limit::ChargeSet&) override { return false; }
  boost::asio::awaitable<void> decide(limit::ChargeSet&) override { throw std::logic_error("not asked"); }
  boost::asio::awaitable<void> peek(limit::ChargeSet&) override { throw std::logic_error("not asked"); }
  void settle(const limit::ChargeSet&, std::int64_t) override {}
  void release(const limit::ChargeSet&) override { ++released; }
  void renew(const limit::ChargeSet&) override { ++renewed; }
  int released = 0, renewed = 0;
};

TEST(SlotKeeper, RenewsWhatIsHeldAndReleasesOnce) {
  CountingStore store;
  SlotKeeper keeper(store);
  RequestContext a, b;
  keeper.add(a);
  keeper.add(b);
  keeper.renew_all();
  EXPECT_EQ(store.renewed, 2);
  keeper.release(a);
  keeper.release(a);
  EXPECT_EQ(store.released, 1);
  EXPECT_EQ(keeper.held(), 1U);
  keeper.renew_all();
  EXPECT_EQ(store.renewed, 3);
}

TEST(RequestContextPool, AContextComesBackEmptyWithItsMemory) {
  RequestContextPool pool;
  const RequestContext* first = nullptr;
  {
    const auto context = pool.take();
    context->body = std::string(500, 'x');
    context->cost = 9;
    first = context.get();
  }
  const auto again = pool.take();
  EXPECT_EQ(again.get(), first);
  EXPECT_TRUE(again->body.empty());
  EXPECT_GE(again->body.capacity(), 500U);
  EXPECT_EQ(again->cost, 1);
}

}  // namespace
}  // namespace weir::pipeline
