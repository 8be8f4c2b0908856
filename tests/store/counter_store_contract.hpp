// SPDX-License-Identifier: Apache-2.0
// What every counter store promises, as one suite (counter_store_contract.cpp) that each store runs:
//
//   INSTANTIATE_TEST_SUITE_P(memory, CounterStoreContract, testing::Values(StoreMaker{"memory",
//   make_memory}),
//                            [](const auto& each) { return std::string(each.param.name); });
//
// A maker gives a StoreWorld: a store with a clock that stands still unless told. Every test makes a world of
// its own and uses counter keys that no other test uses, so worlds may share a server.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "weir/limit/counter_store.hpp"

namespace weir::store {

class StoreWorld {
 public:
  virtual ~StoreWorld() = default;
  virtual limit::CounterStore& store() = 0;
  // The store's time from now on (about 1.8e12, forwards and backwards), for rolling and calendar windows.
  virtual void set_now(std::int64_t ms) = 0;
  // Runs the coroutine to its end, on whatever the store needs.
  virtual void run(boost::asio::awaitable<void> work) = 0;
  // Returns when every settle, release and renew asked for so far is carried out.
  virtual void finish() = 0;
};

struct StoreMaker {
  const char* name;
  std::unique_ptr<StoreWorld> (*make)();
};

// One request's charges, written by hand.
class Chain {
 public:
  explicit Chain(limit::Accounting accounting = limit::Accounting::all_or_none) {
    set_->accounting = accounting;
  }
  // `policy` must outlive the chain.
  Chain& add(const limit::Policy& policy, const std::string& key, std::int64_t cost = 1);
  Chain& by_owner(std::uint64_t owner);

  limit::ChargeSet& set() { return *set_; }
  const limit::Verdict& verdict(std::size_t layer) const { return set_->charge[layer].verdict; }
  bool charged(std::size_t layer) const { return set_->charge[layer].charged; }

 private:
  std::unique_ptr<limit::ChargeSet> set_ = std::make_unique<limit::ChargeSet>();
};

class CounterStoreContract : public testing::TestWithParam<StoreMaker> {
 protected:
  static constexpr std::int64_t kStart = 1'800'000'000'000;

  void SetUp() override;

  // `limit` permits a minute, counted by the algorithm; 10 cells, 30 s of waiting, burst = limit.
  static limit::Policy policy(limit::AlgorithmKind kind, std::int64_t limit);
  // A counter key that nobody used yet.
  static std::string key(const std::string& name);

  // True if no enforcing layer refuses.
  bool decide(Chain& chain);
  bool peek(Chain& chain);
  // What is left at the key, charging nothing.
  std::int64_t left(const limit::Policy& policy, const std::string& key);

  limit::CounterStore& store() { return world_->store(); }
  StoreWorld& world() { return *world_; }

 private:
  std::unique_ptr<StoreWorld> world_;
};

}  // namespace weir::store
