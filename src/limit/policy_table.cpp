// SPDX-License-Identifier: Apache-2.0
#include "limit/policy_table.hpp"

#include <utility>

namespace weir::limit {
namespace {

const Policy* valid_one(const Overrides& overrides, std::int64_t wall_ms) {
  for (const Override& each : overrides) {
    if (each.from_ms <= wall_ms && wall_ms < each.until_ms) return each.policy;
  }
  return nullptr;
}

const Policy* valid_one(const StringMap<Overrides>& overrides, std::string_view value, std::int64_t wall_ms) {
  if (overrides.empty()) return nullptr;
  const auto found = overrides.find(value);
  return found == overrides.end() ? nullptr : valid_one(found->second, wall_ms);
}

}  // namespace

PolicyTable::PolicyTable() : tables_(std::make_unique<Tables>()) {}
PolicyTable::~PolicyTable() = default;
PolicyTable::PolicyTable(PolicyTable&&) noexcept = default;
PolicyTable& PolicyTable::operator=(PolicyTable&&) noexcept = default;

const Policy* PolicyTable::own(Policy policy) {
  return &tables_->owned.emplace_back(std::move(policy));
}

void PolicyTable::set_default(const Policy* policy) {
  tables_->fallback = policy;
}

void PolicyTable::set_anonymous(const Policy* policy) {
  tables_->anonymous = policy;
  tables_->only_default = false;
}

void PolicyTable::add_tier(std::string_view tier, const Policy* policy) {
  tables_->tiers.insert_or_assign(std::string(tier), policy);
  tables_->only_default = false;
}

void PolicyTable::add_override(std::string_view value, Override override) {
  tables_->note(override);
  tables_->overrides[std::string(value)].push_back(override);
}

void PolicyTable::add_nested(std::string_view caller, std::string_view value, Override override) {
  tables_->note(override);
  tables_->nested[std::string(caller)].by_value[std::string(value)].push_back(override);
}

void PolicyTable::set_nested_default(std::string_view caller, Override override) {
  tables_->note(override);
  tables_->nested[std::string(caller)].fallback.push_back(override);
}

const Policy* PolicyTable::find(const DescriptorEntry& value, const DescriptorEntry& caller,
                                const DescriptorEntry& tier, std::int64_t wall_ms) const {
  const Tables& tables = *tables_;
  const bool named = value.fact == Fact::present;
  if (!tables.nested.empty() && caller.fact == Fact::present) {
    const auto nested = tables.nested.find(caller.text);
    if (nested != tables.nested.end()) {
      const Policy* policy = named ? valid_one(nested->second.by_value, value.text, wall_ms) : nullptr;
      if (policy == nullptr) policy = valid_one(nested->second.fallback, wall_ms);
      if (policy != nullptr) return policy;
    }
  }
  if (named) {
    if (const Policy* policy = valid_one(tables.overrides, value.text, wall_ms)) return policy;
  }
  if (value.fact == Fact::anonymous && tables.anonymous != nullptr) return tables.anonymous;
  if (!tables.tiers.empty() && tier.fact == Fact::present) {
    const auto found = tables.tiers.find(tier.text);
    if (found != tables.tiers.end() && found->second != nullptr) return found->second;
  }
  return tables.fallback;
}

const std::vector<std::int64_t>& PolicyTable::override_ends() const noexcept {
  return tables_->ends;
}

const Policy* PolicyTable::only() const noexcept {
  return tables_->only_default ? tables_->fallback : nullptr;
}

const Policy* PolicyTable::usual() const noexcept {
  return tables_->fallback;
}

}  // namespace weir::limit
