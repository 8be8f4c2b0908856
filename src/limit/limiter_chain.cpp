// SPDX-License-Identifier: Apache-2.0
#include "weir/limit/limiter_chain.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/hash.hpp"
#include "base/string_map.hpp"
#include "limit/counter_key.hpp"
#include "weir/limit/calendar.hpp"

namespace weir::limit {
namespace {

using Order = std::vector<std::uint8_t>;

constexpr std::uint8_t kNode = 0;              // its value is the configuration's: it is never absent
constexpr std::uint64_t kEnforceHashSeed = 1;  // another hash than the window offset's

bool applies(const Layer& layer, const ComponentValues& values) {
  return std::all_of(layer.key.begin(), layer.key.end(), [&](std::uint8_t dimension) {
    return dimension == kNode || values.entry(dimension).fact != Fact::absent;
  });
}

Enforcement enforcement_of(const Policy& policy, std::string_view key) {
  if (policy.enforce_percent >= 100 || policy.enforcement == Enforcement::shadow) return policy.enforcement;
  const bool chosen = stable_hash(key, kEnforceHashSeed) % 100 < policy.enforce_percent;
  return chosen ? Enforcement::enforce : Enforcement::shadow;
}

bool has_offset(const Policy& policy) {
  const AlgorithmKind kind = policy.terms.algorithm;
  return policy.hashed_offset && !policy.terms.calendar &&
         (kind == AlgorithmKind::fixed_window || kind == AlgorithmKind::sliding_counter);
}

void fill(Charge& charge, const Policy& policy, const Descriptor& who, std::int64_t wall_ms) {
  charge.policy = &policy;
  charge.enforcement = enforcement_of(policy, charge.key);
  charge.answered = Answered::store;
  charge.charged = false;
  charge.verdict = {};
  Request& request = charge.request;
  request.now_ms = 0;
  request.cost = policy.terms.algorithm == AlgorithmKind::concurrency ? 1 : who.cost;
  request.owner = who.owner;
  request.offset_ms = 0;
  if (has_offset(policy)) {
    const auto width = static_cast<std::uint64_t>(policy.terms.window_ms);
    request.offset_ms = static_cast<std::int64_t>(stable_hash(charge.key) % width);
  }
  if (policy.terms.calendar) request.bounds = calendar_bounds(policy.calendar, policy.time_zone, wall_ms);
}

const Policy* policy_of(const Layer& layer, const ComponentValues& values,
                        const LimiterChain::Options& options, std::int64_t wall_ms) {
  const DescriptorEntry value = values.entry(layer.key.back());
  const DescriptorEntry caller = values.entry(options.caller_dimension);
  const DescriptorEntry tier = values.entry(options.tier_dimension);
  // The exempt lane goes through limits of its own, and through the ordinary ones (counted apart) where it
  // has none: never through nothing.
  const Policy* own = values.exempt() ? layer.exempt.find(value, caller, tier, wall_ms) : nullptr;
  return own != nullptr ? own : layer.policies.find(value, caller, tier, wall_ms);
}

// The order with the layer `from` moved before the layer `to`; unchanged if it is there already.
Order moved_before(Order order, std::size_t from, std::size_t to) {
  if (from > to)
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to),
                order.begin() + static_cast<std::ptrdiff_t>(from),
                order.begin() + static_cast<std::ptrdiff_t>(from) + 1);
  return order;
}

void check(const std::vector<Layer>& layers) {
  if (layers.size() > kMaxLayers) throw std::invalid_argument("a chain has at most 16 layers");
  for (const Layer& layer : layers) {
    if (layer.key.empty() || layer.key.size() != layer.key_names.size())
      throw std::invalid_argument("layer " + layer.name + ": a key needs dimensions, each with its name");
    if (std::any_of(layer.key.begin(), layer.key.end(), [](auto each) { return each >= kMaxKeyDimensions; }))
      throw std::invalid_argument("layer " + layer.name + ": dimension out of range");
  }
}

}  // namespace

struct LimiterChain::Compiled {
  Options options;
  std::vector<Layer> layers;
  std::vector<KeyShape> shapes;     // one per layer
  std::vector<const Policy*> only;  // one per layer: the one that all requests have, if they all have it
  Order order;
  Order priority_order;
  StringMap<bool> priority_values;

  const Order& order_for(const ComponentValues& values) const {
    if (priority_values.empty()) return order;
    return priority_values.contains(values.entry(options.api_dimension).text) ? priority_order : order;
  }

  void compile() {
    for (const Layer& layer : layers) {
      order.push_back(static_cast<std::uint8_t>(order.size()));
      shapes.emplace_back(options.node, layer, options.caller_dimension);
      only.push_back(layer.policies.only());
    }
    const auto place_of = [&](const std::string& name) {
      return std::find_if(layers.begin(), layers.end(), [&](const Layer& each) { return each.name == name; });
    };
    const auto moves = place_of(options.priority_layer);
    const auto before = place_of(options.priority_before);
    if (moves == layers.end() || before == layers.end()) return;
    for (const std::string& value : moves->priority_values) priority_values.emplace(value, true);
    priority_order = moved_before(order, static_cast<std::size_t>(moves - layers.begin()),
                                  static_cast<std::size_t>(before - layers.begin()));
  }
};

LimiterChain::LimiterChain(Options options, std::vector<Layer> layers)
    : compiled_(std::make_unique<Compiled>()) {
  check(layers);
  compiled_->options = std::move(options);
  compiled_->layers = std::move(layers);
  compiled_->compile();
}

LimiterChain::~LimiterChain() = default;
LimiterChain::LimiterChain(LimiterChain&&) noexcept = default;
LimiterChain& LimiterChain::operator=(LimiterChain&&) noexcept = default;

std::string_view LimiterChain::build(const Descriptor& who, std::int64_t wall_ms, ChargeSet& set) const {
  const Compiled& chain = *compiled_;
  set.clear();
  set.accounting = chain.options.accounting;
  ComponentValues values(who);
  for (const std::uint8_t n : chain.order_for(values)) {
    const Layer& layer = chain.layers[n];
    if (!applies(layer, values)) continue;
    const Policy* const policy = who.exempt || chain.only[n] == nullptr
                                     ? policy_of(layer, values, chain.options, wall_ms)
                                     : chain.only[n];
    if (policy == nullptr || policy->access == Access::unlimited) continue;
    if (policy->access == Access::blocked) return layer.name;
    Charge& charge = set.charge[set.size++];
    char* const key = set.keys.data() + set.keys_used;
    const std::size_t size = chain.shapes[n].write(key, values, *policy, who.exempt);
    set.keys_used += size;
    charge.key = {key, size};
    fill(charge, *policy, who, wall_ms);
  }
  return {};
}

std::span<const Layer> LimiterChain::layers() const noexcept {
  return compiled_->layers;
}

const LimiterChain::Options& LimiterChain::options() const noexcept {
  return compiled_->options;
}

}  // namespace weir::limit
