// SPDX-License-Identifier: Apache-2.0
// Asks a compiled chain what it would charge for a request, by dimension names.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "config/load.hpp"
#include "weir/identity/identity.hpp"
#include "weir/limit/limiter_chain.hpp"

namespace weir::config {

// dimension name -> value; "" is the anonymous value.
using Who = std::map<std::string, std::string>;

struct Asked {
  std::string blocked;  // the layer that blocks, if one does
  std::vector<std::string> layers;
  std::map<std::string, limit::Policy> policy;
  std::map<std::string, std::string> key;

  std::int64_t limit(const std::string& layer) const {
    const auto found = policy.find(layer);
    return found == policy.end() ? 0 : found->second.terms.limit;
  }
};

enum class Lane : std::uint8_t { ordinary, exempt };

inline Asked ask(const pipeline::Runtime& runtime, const Who& who, std::int64_t wall_ms = 1'800'000'000'000,
                 Lane lane = Lane::ordinary) {
  std::array<limit::DescriptorEntry, identity::kMaxDimensions> entries{};
  entries[identity::dimension::node] = {runtime.node, limit::Fact::present};
  for (std::size_t d = 0; d < entries.size(); ++d) {
    const auto found = who.find(std::string(runtime.extractor.dimension_name(static_cast<std::uint8_t>(d))));
    if (found == who.end()) continue;
    entries[d] = {found->second, found->second.empty() ? limit::Fact::anonymous : limit::Fact::present};
  }
  limit::Descriptor descriptor;
  descriptor.entries = entries;
  descriptor.exempt = lane == Lane::exempt;
  auto set = std::make_unique<limit::ChargeSet>();
  Asked out;
  out.blocked = std::string(runtime.chain.build(descriptor, wall_ms, *set));
  for (const limit::Charge& charge : set->charges()) {
    out.layers.push_back(charge.policy->layer);
    out.policy.emplace(charge.policy->layer, *charge.policy);
    out.key.emplace(charge.policy->layer, std::string(charge.key));
  }
  return out;
}

}  // namespace weir::config
