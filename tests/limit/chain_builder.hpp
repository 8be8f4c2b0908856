// SPDX-License-Identifier: Apache-2.0
// Layers and descriptors for tests, by the dimension indices of identity/identity.hpp.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/limit/limiter_chain.hpp"

namespace weir::limit {

enum : std::uint8_t { node, caller, user, api, ip, api_class, upstream, tier, region, role, declared };

inline Policy policy_of(AlgorithmKind kind, std::int64_t limit, std::int64_t window_ms = 60'000) {
  Policy policy;
  policy.terms = {kind, limit, window_ms, limit, 0, kind == AlgorithmKind::sliding_window ? 10 : 0, false};
  return policy;
}

inline Layer layer_of(const std::string& name, std::vector<std::uint8_t> key, Policy policy) {
  static const std::array<std::string, 11> names{"node",     "caller", "user",   "api",  "ip",     "class",
                                                 "upstream", "tier",   "region", "role", "X-Shard"};
  Layer layer;
  layer.name = name;
  for (const std::uint8_t dimension : key) layer.key_names.push_back(names[dimension]);
  layer.key = std::move(key);
  policy.layer = name;
  layer.policies.set_default(layer.policies.own(std::move(policy)));
  return layer;
}

template <class... Layers>
LimiterChain chain_of(LimiterChain::Options options, Layers&&... layers) {
  std::vector<Layer> all;
  (all.push_back(std::forward<Layers>(layers)), ...);
  if (options.node.empty()) options.node = "edge-1";
  return {std::move(options), std::move(all)};
}

// Facts of one request. A copy has texts of its own; views are made when the descriptor is asked for.
class Who {
 public:
  Who& is(std::uint8_t dimension, std::string value) {
    texts_[dimension] = std::move(value);
    facts_[dimension] = Fact::present;
    return *this;
  }
  Who& anonymous(std::uint8_t dimension) {
    facts_[dimension] = Fact::anonymous;
    return *this;
  }
  Who& exempt() {
    descriptor_.exempt = true;
    return *this;
  }
  Who& costs(std::int64_t permits) {
    descriptor_.cost = permits;
    return *this;
  }
  const Descriptor& descriptor() {
    for (std::size_t n = 0; n < entries_.size(); ++n) entries_[n] = {texts_[n], facts_[n]};
    descriptor_.entries = entries_;
    return descriptor_;
  }

 private:
  std::array<std::string, 16> texts_;
  std::array<Fact, 16> facts_{};
  std::array<DescriptorEntry, 16> entries_{};
  Descriptor descriptor_;
};

struct Built {
  std::unique_ptr<ChargeSet> set = std::make_unique<ChargeSet>();
  std::string blocked;

  std::vector<std::string> keys() const {
    std::vector<std::string> result;
    for (const Charge& each : set->charges()) result.emplace_back(each.key);
    return result;
  }
};

inline Built build(const LimiterChain& chain, Who who, std::int64_t wall_ms = 1'800'000'000'000) {
  Built built;
  built.blocked = chain.build(who.descriptor(), wall_ms, *built.set);
  return built;
}

}  // namespace weir::limit
