// SPDX-License-Identifier: Apache-2.0
// The eight rows. A new algorithm is one .cpp here, one .lua, one row and one line in the oracle.
#pragma once

#include "weir/limit/algorithm.hpp"

namespace weir::limit {

extern const Algorithm kFixedWindow;
extern const Algorithm kSlidingWindow;
extern const Algorithm kSlidingCounter;
extern const Algorithm kSlidingLog;
extern const Algorithm kTokenBucket;
extern const Algorithm kGcra;
extern const Algorithm kLeakyBucket;
extern const Algorithm kConcurrency;

// The two letters that stand for the algorithm in counter keys: stored format, never changed.
std::string_view short_name(AlgorithmKind kind) noexcept;

// fixed_window: counts at least what was seen used of the window that ends at `ends_ms`, if that is the one
// now.
void recall_window(CounterState& state, const Terms& terms, const Request& request, std::int64_t used,
                   std::int64_t ends_ms);

// For the columns that an algorithm has no use for.
inline void ignore_slot(CounterState&, const Terms&, const Request&) {}

// Writes what judge worked out, where the words are the whole state.
inline void write_words(CounterState& state, const Terms&, const Request&, const Look& look) {
  state.word = look.next;
}

}  // namespace weir::limit
