// SPDX-License-Identifier: Apache-2.0
// One copy of every distinct Terms a store has seen, by number. A counter remembers the number, so that it
// can be judged when it has to leave the table, long after the policy it was charged for was replaced by a
// reload.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "weir/limit/policy.hpp"

namespace weir::store {

// Thread-safe. Grows with the number of distinct Terms (64 bytes each), never shrinks.
class TermsPool {
 public:
  using Number = std::uint32_t;
  static constexpr Number kNone = 0;  // stands for no terms
  static constexpr Number kMost = (1U << 24) - 1;

  // The number of these terms; a new one if they were never seen. When all numbers are used up: kNone.
  Number number_of(const limit::Terms& terms);

  // Requires a number that number_of returned (not kNone). Lock-free.
  const limit::Terms& at(Number number) const noexcept {
    return (*chunks_[number / kChunk].load(std::memory_order_acquire))[number % kChunk];
  }

 private:
  static constexpr std::size_t kChunk = 4096;
  using Chunk = std::array<limit::Terms, kChunk>;
  struct Hash {
    std::size_t operator()(const limit::Terms& terms) const noexcept;
  };

  std::array<std::atomic<Chunk*>, (kMost + 1) / kChunk> chunks_{};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> owned_;
  std::unordered_map<limit::Terms, Number, Hash> numbers_;
};

}  // namespace weir::store
