// SPDX-License-Identifier: Apache-2.0
#include "telemetry/name_set.hpp"

#include <algorithm>

#include "weir/base/octets.hpp"

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

std::size_t NameMemo::find(std::string_view name) noexcept {
  if (name.size() > kNameBytes) return set_.find(name);
  // Names of one kind tend to differ in their last octets.
  const std::size_t tail = std::min<std::size_t>(name.size(), 7);
  const std::uint64_t mixed =
      (few_octets(name.data() + name.size() - tail, tail) ^ name.size()) * 0x9e3779b97f4a7c15;
  Entry& entry = entries_[mixed >> 60];
  const void* const version = set_.version();
  if (entry.version == version && name == std::string_view(entry.name, entry.size)) return entry.index;
  const std::size_t index = set_.find(name);
  entry.version = version;
  entry.index = static_cast<std::uint16_t>(index);
  entry.size = static_cast<std::uint8_t>(name.copy(entry.name, kNameBytes));
  return index;
}

}  // namespace weir::telemetry
