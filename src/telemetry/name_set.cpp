// SPDX-License-Identifier: Apache-2.0
#include "telemetry/name_set.hpp"

namespace weir::telemetry {

NameSet::NameSet(std::size_t cap) : cap_(cap) {
  tables_.push_back(std::make_unique<const Table>());
  current_ = tables_.back().get();
}

void NameSet::add(std::span<const std::string> names) {
  const std::lock_guard lock(mutex_);
  auto next = std::make_unique<Table>(*current());
  for (const std::string& name : names) {
    if (next->names.size() == cap_) break;
    if (name.empty() || !next->index.emplace(name, next->names.size()).second) continue;
    next->names.push_back(name);
  }
  if (next->names.size() == current()->names.size()) return;
  tables_.push_back(std::move(next));
  current_.store(tables_.back().get(), std::memory_order_release);
}

std::size_t NameSet::find(std::string_view name) const noexcept {
  const Table* table = current();
  const auto found = table->index.find(name);
  return found == table->index.end() ? cap_ : found->second;
}

}  // namespace weir::telemetry
