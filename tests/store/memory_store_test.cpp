// SPDX-License-Identifier: Apache-2.0
// What is the memory store's own: threads, bounded memory, eviction that never refills.
#include "store/memory_store.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "store/counter_store_contract.hpp"
#include "store/fake_clock.hpp"

namespace weir::store {
namespace {

using limit::AlgorithmKind;
using limit::Policy;

Policy policy_of(AlgorithmKind kind, std::int64_t limit, std::int64_t window_ms = 60'000) {
  Policy policy;
  policy.layer = "test";
  policy.terms = {kind, limit, window_ms, limit, 0, kind == AlgorithmKind::sliding_window ? 10 : 0, false};
  return policy;
}

std::vector<AlgorithmKind> all_kinds() {
  std::vector<AlgorithmKind> kinds;
  for (std::size_t n = 0; n < limit::kAlgorithmCount; ++n) kinds.push_back(static_cast<AlgorithmKind>(n));
  return kinds;
}

bool take(MemoryStore& store, const Policy& policy, const std::string& key, std::int64_t cost = 1,
          std::uint64_t owner = 1) {
  Chain chain;
  chain.add(policy, key, cost).by_owner(owner);
  store.decide_now(chain.set());
  return chain.charged(0);
}

std::int64_t left(MemoryStore& store, const Policy& policy, const std::string& key) {
  Chain chain;
  chain.add(policy, key);
  store.look(chain.set());
  return chain.verdict(0).remaining;
}

// Other keys, each used once, until `key` had to leave.
void crowd_out(MemoryStore& store, FakeClock& clock, const std::string& key) {
  static const Policy others = policy_of(AlgorithmKind::token_bucket, 1000);
  clock.advance(100);
  for (int n = 0; store.standing(key).has_value(); ++n) {
    ASSERT_LT(n, 100'000);
    take(store, others, "flood" + std::to_string(n));
  }
}

template <class Work>
void on_threads(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int n = 0; n < count; ++n) threads.emplace_back(work, n);
  for (std::thread& thread : threads) thread.join();
}

TEST(MemoryStore, exactly_the_limit_passes_whoever_asks) {
  for (const AlgorithmKind kind : all_kinds()) {
    FakeClock clock;
    MemoryStore store(1000, clock);
    const Policy policy = policy_of(kind, 500);
    std::atomic<int> passed{0};
    on_threads(4, [&](int thread) {
      for (std::uint64_t n = 0; n < 500; ++n) {
        const std::uint64_t owner = 1 + n * 4 + static_cast<std::uint64_t>(thread);
        if (take(store, policy, "hot", 1, owner)) ++passed;
      }
    });
    EXPECT_EQ(passed, 500) << limit::name_of(kind);
    EXPECT_EQ(left(store, policy, "hot"), 0);
  }
}

// Threads take the same layers in different orders; the sums prove that no chain was charged in part.
TEST(MemoryStore, chains_are_all_or_none_between_threads) {
  FakeClock clock;
  MemoryStore store(1000, clock);
  const Policy wide = policy_of(AlgorithmKind::token_bucket, 100'000);
  const Policy narrow = policy_of(AlgorithmKind::fixed_window, 700);
  std::atomic<int> passed{0};
  on_threads(4, [&](int thread) {
    for (int n = 0; n < 1000; ++n) {
      Chain chain;
      if ((thread + n) % 2 == 0)
        chain.add(wide, "a").add(narrow, "b").add(wide, "c").add(wide, "d");
      else
        chain.add(wide, "d").add(wide, "c").add(narrow, "b").add(wide, "a");
      store.decide_now(chain.set());
      if (chain.charged(0)) ++passed;
      for (std::size_t layer = 1; layer < 4; ++layer) EXPECT_EQ(chain.charged(layer), chain.charged(0));
    }
  });
  EXPECT_EQ(passed, 700);
  for (const char* key : {"a", "c", "d"}) EXPECT_EQ(left(store, wide, key), 100'000 - 700);
}

// Far more keys than slots: keys leave and come back all the time, and still none passes more than its limit.
TEST(MemoryStore, a_thrashing_table_never_passes_more_than_the_limit) {
  for (const AlgorithmKind kind : all_kinds()) {
    if (kind == AlgorithmKind::concurrency) continue;
    FakeClock clock;
    MemoryStore store(64, clock);
    const Policy policy = policy_of(kind, 5);
    constexpr std::size_t kKeys = 600;
    std::vector<std::atomic<int>> passed(kKeys);
    on_threads(4, [&](int thread) {
      std::uint64_t random = 88172645463325252ULL + static_cast<std::uint64_t>(thread);
      for (int n = 0; n < 3000; ++n) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const std::size_t first = random % kKeys, second = (random >> 20) % kKeys;
        if (first == second) continue;
        Chain chain;
        const std::string one = "key" + std::to_string(first), two = "key" + std::to_string(second);
        chain.add(policy, one).add(policy, two);
        store.decide_now(chain.set());
        if (!chain.charged(0)) continue;
        ++passed[first];
        ++passed[second];
      }
    });
    EXPECT_GT(store.evictions(), 1000U);
    int total = 0;
    for (std::size_t n = 0; n < kKeys; ++n) {
      EXPECT_LE(passed[n], 5) << limit::name_of(kind) << " key " << n;
      total += passed[n];
    }
    EXPECT_GT(total, 300);
  }
}

TEST(MemoryStore, eviction_never_refills) {
  for (const AlgorithmKind kind : all_kinds()) {
    if (kind == AlgorithmKind::concurrency) continue;
    FakeClock clock;
    MemoryStore store(1000, clock);
    const Policy policy = policy_of(kind, 10);
    for (int n = 0; n < 7; ++n) EXPECT_TRUE(take(store, policy, "victim"));
    crowd_out(store, clock, "victim");
    EXPECT_EQ(left(store, policy, "victim"), 3) << limit::name_of(kind);
    for (int n = 0; n < 3; ++n) EXPECT_TRUE(take(store, policy, "victim"));
    EXPECT_FALSE(take(store, policy, "victim")) << limit::name_of(kind);
  }
}

TEST(MemoryStore, time_pays_debts_of_evicted_keys) {
  FakeClock clock;
  MemoryStore store(1000, clock);
  const Policy policy = policy_of(AlgorithmKind::token_bucket, 10);
  for (int n = 0; n < 10; ++n) take(store, policy, "victim");
  crowd_out(store, clock, "victim");
  clock.advance(30'000);
  EXPECT_EQ(left(store, policy, "victim"), 5);
  clock.advance(30'100);
  EXPECT_EQ(left(store, policy, "victim"), 10);
}

TEST(MemoryStore, counters_in_use_outlive_a_flood) {
  FakeClock clock;
  MemoryStore store(64, clock);
  const Policy slots = policy_of(AlgorithmKind::concurrency, 3);
  const Policy others = policy_of(AlgorithmKind::token_bucket, 1000);
  Chain held;
  held.add(slots, "in flight");
  store.decide_now(held.set());
  clock.advance(1000);
  for (int n = 0; n < 5000; ++n) take(store, others, "flood" + std::to_string(n));
  EXPECT_EQ(left(store, slots, "in flight"), 2);
  store.release(held.set());
  EXPECT_EQ(left(store, slots, "in flight"), 3);
}

// When every slot of every bucket is in use, requests are still decided, and counted in the sketch.
TEST(MemoryStore, a_table_that_cannot_give_anything_up_still_counts) {
  FakeClock clock;
  MemoryStore store(64, clock);
  const Policy slots = policy_of(AlgorithmKind::concurrency, 1);
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 3);
  for (std::uint64_t n = 1; n < 2000; ++n) take(store, slots, "slot" + std::to_string(n), 1, n);
  int passed = 0;
  for (int n = 0; n < 10; ++n) passed += take(store, policy, "late") ? 1 : 0;
  EXPECT_LE(passed, 3);
  EXPECT_GE(passed, 1);
}

TEST(MemoryStore, the_least_recently_used_counter_leaves) {
  FakeClock clock;
  MemoryStore store(64, clock);
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 1000, 3'600'000);
  for (int n = 0; n < 400; ++n) {
    take(store, policy, "busy");
    take(store, policy, "flood" + std::to_string(n));
    clock.advance(100);
  }
  EXPECT_TRUE(store.standing("busy").has_value());
  EXPECT_FALSE(store.standing("flood0").has_value());
}

TEST(MemoryStore, counters_that_are_as_good_as_new_leave_first) {
  FakeClock clock;
  MemoryStore store(64, clock);
  const Policy brief = policy_of(AlgorithmKind::fixed_window, 10, 1000);
  const Policy durable = policy_of(AlgorithmKind::fixed_window, 10, 3'600'000);
  take(store, durable, "old but owing");
  for (int n = 0; n < 500; ++n) {
    take(store, brief, "brief" + std::to_string(n));
    clock.advance(1000);
  }
  EXPECT_TRUE(store.standing("old but owing").has_value());
}

TEST(MemoryStore, memory_is_bounded_and_stated) {
  FakeClock clock;
  MemoryStore store(1000, clock);
  const std::size_t fixed = 100 * 1024 + std::size_t{4} * 8 * 512;
  EXPECT_EQ(store.memory_bytes(), fixed);
  const Policy policy = policy_of(AlgorithmKind::sliding_window, 10);
  for (int n = 0; n < 20'000; ++n) take(store, policy, "key" + std::to_string(n));
  EXPECT_LE(store.live_keys(), 1500U);
  EXPECT_GE(store.live_keys(), 1400U);
  EXPECT_EQ(store.memory_bytes(), fixed + store.live_keys() * (11 * 8 + sizeof(std::vector<std::int64_t>)));
}

TEST(MemoryStore, calendar_windows_count_on_the_wall_clock_also_when_evicted) {
  class TwoClocks final : public FakeClock {
   public:
    TwoClocks() : FakeClock(5'000'000) {}
    std::int64_t wall_ms() const noexcept override { return monotonic_ms() + 1'799'995'000'000; }
  };
  TwoClocks clock;
  MemoryStore store(1000, clock);
  Policy day = policy_of(AlgorithmKind::fixed_window, 10, 86'400'000);
  day.terms.calendar = true;
  constexpr std::int64_t kMidnight = 1'800'000'000'000 - 3'600'000;
  const auto ask = [&](std::int64_t cost) {
    Chain chain;
    chain.add(day, "daily", cost);
    for (std::size_t n = 0; n < 4; ++n)
      chain.set().charge[0].request.bounds.at[n] =
          kMidnight + (static_cast<std::int64_t>(n) - 1) * 86'400'000;
    store.decide_now(chain.set());
    return chain.verdict(0);
  };
  EXPECT_EQ(ask(4).remaining, 6);
  EXPECT_EQ(ask(1).reset_ms, 82'800'000);
  crowd_out(store, clock, "daily");
  EXPECT_EQ(ask(1).remaining, 4);
  clock.set(5'000'000 + 82'800'000);
  EXPECT_EQ(ask(1).remaining, 9);
}

TEST(MemoryStore, shows_and_forgets_a_counter_by_its_key) {
  FakeClock clock;
  MemoryStore store(64, clock);
  const Policy policy = policy_of(AlgorithmKind::token_bucket, 6);
  EXPECT_FALSE(store.standing("key").has_value());
  EXPECT_EQ(store.forget("key"), 0U);
  take(store, policy, "key", 4);
  const auto standing = store.standing("key");
  ASSERT_TRUE(standing.has_value());
  EXPECT_EQ(standing->used, 4);
  EXPECT_EQ(standing->free_in_ms, 40'000);
  EXPECT_EQ(standing->terms.limit, 6);
  EXPECT_EQ(store.forget("key"), 1U);
  EXPECT_EQ(left(store, policy, "key"), 6);
}

TEST(MemoryStore, settles_and_releases_while_others_decide) {
  FakeClock clock;
  MemoryStore store(64, clock);
  const Policy tokens = policy_of(AlgorithmKind::token_bucket, 1000);
  const Policy slots = policy_of(AlgorithmKind::concurrency, 100);
  on_threads(4, [&](int thread) {
    for (std::uint64_t n = 0; n < 500; ++n) {
      Chain chain;
      chain.add(tokens, "tokens")
          .add(slots, "slots")
          .by_owner(1 + n * 4 + static_cast<std::uint64_t>(thread));
      store.decide_now(chain.set());
      EXPECT_TRUE(chain.charged(0));
      store.renew(chain.set());
      store.settle(chain.set(), -1);
      store.release(chain.set());
    }
  });
  EXPECT_EQ(left(store, tokens, "tokens"), 1000);
  EXPECT_EQ(left(store, slots, "slots"), 100);
}

// A chain that names a key twice (a mistake of the configuration) must not hang.
TEST(MemoryStore, one_key_twice_in_a_chain_does_not_lock_itself_out) {
  FakeClock clock;
  MemoryStore store(64, clock);
  const Policy policy = policy_of(AlgorithmKind::fixed_window, 10);
  Chain chain;
  chain.add(policy, "twice").add(policy, "twice");
  store.decide_now(chain.set());
  EXPECT_TRUE(chain.charged(0));
  EXPECT_TRUE(take(store, policy, "twice"));
}

}  // namespace
}  // namespace weir::store
