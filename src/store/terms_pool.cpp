// SPDX-License-Identifier: Apache-2.0
#include "store/terms_pool.hpp"

#include "base/hash.hpp"

namespace weir::store {

std::size_t TermsPool::Hash::operator()(const limit::Terms& terms) const noexcept {
  const std::array<std::int64_t, 7> numbers{static_cast<std::int64_t>(terms.algorithm),
                                            terms.limit,
                                            terms.window_ms,
                                            terms.burst,
                                            terms.max_wait_ms,
                                            terms.cells,
                                            terms.calendar ? 1 : 0};
  return stable_hash({reinterpret_cast<const char*>(numbers.data()), sizeof numbers}, process_seed());
}

TermsPool::Number TermsPool::number_of(const limit::Terms& terms) {
  const std::lock_guard lock(mutex_);
  const auto next = static_cast<Number>(numbers_.size() + 1);
  if (next > kMost) {
    const auto found = numbers_.find(terms);
    return found == numbers_.end() ? kNone : found->second;
  }
  const auto [place, added] = numbers_.try_emplace(terms, next);
  if (!added) return place->second;
  std::atomic<Chunk*>& chunk = chunks_[next / kChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    owned_.push_back(std::make_unique<Chunk>());
    chunk.store(owned_.back().get(), std::memory_order_release);
  }
  (*chunk.load(std::memory_order_relaxed))[next % kChunk] = terms;
  return next;
}

}  // namespace weir::store
