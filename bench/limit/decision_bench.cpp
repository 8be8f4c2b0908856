// SPDX-License-Identifier: Apache-2.0
// One request's limiting in memory: keys built, four layers decided, the decision concluded. Users are drawn
// at random from so many that the table holds the given number of live keys.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <ios>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "store/memory_store.hpp"
#include "weir/limit/limiter_chain.hpp"

namespace weir {
namespace {

using limit::AlgorithmKind;
using limit::DescriptorEntry;
using limit::Fact;

constexpr std::uint8_t kNode = 0, kCaller = 1, kUser = 2, kApi = 3;

limit::Layer layer(const std::string& name, std::vector<std::uint8_t> key, AlgorithmKind kind,
                   std::int64_t limit) {
  static const std::array<std::string, 4> names{"node", "caller", "user", "api"};
  limit::Layer result;
  result.name = name;
  for (const std::uint8_t dimension : key) result.key_names.push_back(names[dimension]);
  result.key = std::move(key);
  limit::Policy policy;
  policy.layer = name;
  policy.terms = {kind, limit, 60'000, limit, 0, kind == AlgorithmKind::sliding_window ? 100 : 0, false};
  result.policies.set_default(result.policies.own(std::move(policy)));
  return result;
}

// The default layers with their default algorithms.
limit::LimiterChain four_layers() {
  constexpr std::int64_t plenty = 1'000'000'000;
  std::vector<limit::Layer> layers;
  layers.push_back(layer("node", {kNode}, AlgorithmKind::sliding_window, plenty));
  layers.push_back(layer("caller", {kCaller}, AlgorithmKind::token_bucket, plenty));
  layers.push_back(layer("user", {kCaller, kUser}, AlgorithmKind::token_bucket, plenty));
  layers.push_back(layer("api", {kApi}, AlgorithmKind::fixed_window, plenty));
  limit::LimiterChain::Options options;
  options.node = "edge-1";
  return {std::move(options), std::move(layers)};
}

class Requests {
 public:
  explicit Requests(std::size_t users, std::uint64_t seed) : users_(users), seed_(seed) {
    for (std::uint32_t n = 0; n < kCallers; ++n) {
      callers_.push_back("caller-" + std::to_string(n));
      apis_.push_back("POST /order/" + std::to_string(n));
    }
    entries_[kNode] = {"edge-1", Fact::present};
  }

  limit::Descriptor next() {
    seed_ ^= seed_ << 13;
    seed_ ^= seed_ >> 7;
    seed_ ^= seed_ << 17;
    return of(static_cast<std::uint32_t>((seed_ >> 32) * users_ >> 32));
  }
  limit::Descriptor of(std::uint32_t user) {
    // Written anew, as a request's bytes are: a list of names would add a cache miss no gateway has.
    char* const digits = user_name_.data() + 5;
    const char* const end = std::to_chars(digits, user_name_.data() + user_name_.size(), user).ptr;
    entries_[kUser] = {{user_name_.data(), static_cast<std::size_t>(end - user_name_.data())}, Fact::present};
    entries_[kCaller] = {callers_[user % kCallers], Fact::present};
    entries_[kApi] = {apis_[user % kCallers], Fact::present};
    return {entries_, false, 1, 1};
  }
  std::size_t users() const { return users_; }

 private:
  static constexpr std::uint32_t kCallers = 20;  // and as many APIs
  std::size_t users_;
  std::uint64_t seed_;
  std::array<char, 16> user_name_{'u', 's', 'e', 'r', '-'};
  std::vector<std::string> callers_, apis_;
  std::array<DescriptorEntry, 10> entries_;
};

bool decide(const limit::LimiterChain& chain, store::MemoryStore& store, const limit::Descriptor& who,
            limit::ChargeSet& set) {
  benchmark::DoNotOptimize(chain.build(who, 0, set));
  store.decide_now(set);
  return limit::conclude(set).allowed();
}

// Gives the mappings that ask for huge pages their pages at once, where khugepaged takes its minutes.
void settle_pages() {
#ifdef MADV_COLLAPSE
  constexpr int kCollapse = MADV_COLLAPSE;
#else
  constexpr int kCollapse = 25;  // Linux 6.1; older C libraries do not name it
#endif
  std::ifstream maps("/proc/self/smaps");
  std::uintptr_t from = 0, to = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t low = 0, high = 0;
    char dash = 0;
    if (words >> std::hex >> low >> dash >> high && dash == '-') {
      from = low;
      to = high;
    }
    if (line.starts_with("VmFlags:") && line.find(" hg") != std::string::npos)
      madvise(reinterpret_cast<void*>(from), to - from, kCollapse);
  }
}

void build_and_decide(benchmark::State& state) {
  const limit::LimiterChain chain = four_layers();
  Requests requests(static_cast<std::size_t>(state.range(0)) - 41, 88172645463325252ULL);
  store::MemoryStore store(1'000'000, system_clock());  // the default of store.max_keys
  const auto set = std::make_unique<limit::ChargeSet>();
  for (std::uint32_t user = 0; user < requests.users(); ++user) decide(chain, store, requests.of(user), *set);
  settle_pages();
  for (auto each : state) benchmark::DoNotOptimize(decide(chain, store, requests.next(), *set));
  state.counters["live keys"] = static_cast<double>(store.live_keys());
  state.counters["evictions"] = static_cast<double>(store.evictions());
}
BENCHMARK(build_and_decide)->Arg(100)->Arg(100'000)->Arg(1'000'000);

void build_alone(benchmark::State& state) {
  const limit::LimiterChain chain = four_layers();
  Requests requests(60, 88172645463325252ULL);
  const auto set = std::make_unique<limit::ChargeSet>();
  for (auto each : state) benchmark::DoNotOptimize(chain.build(requests.next(), 0, *set));
}
BENCHMARK(build_alone);

// All threads charge the very same four counters.
void one_hot_key(benchmark::State& state) {
  static const limit::LimiterChain chain = four_layers();
  static store::MemoryStore store(1000, system_clock());
  Requests requests(1, 1);
  const auto set = std::make_unique<limit::ChargeSet>();
  const limit::Descriptor who = requests.of(0);
  for (auto each : state) benchmark::DoNotOptimize(decide(chain, store, who, *set));
}
BENCHMARK(one_hot_key)->Threads(1)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace weir
