// SPDX-License-Identifier: Apache-2.0
// What token_bucket and leaky_bucket share: a level in whole units, where one permit is window_ms units and
// `limit` units flow back each ms, so that refilling never rounds. A leaky bucket's level may go down to
// -queue permits; a token bucket's queue is 0.
//
// Word 0: level; word 1: when it was right, ms; word 2: the burst it was meant for (0: a fresh counter).
#pragma once

#include "limit/algorithm_table.hpp"

namespace weir::limit::bucket {

// `queue` is in permits. The verdict's wait_ms is set where a passing request takes the level below zero.
Look judge(const CounterState& state, const Terms& terms, const Request& request, std::int64_t queue);
Verdict charge(CounterState& state, const Terms& terms, const Request& request, const Look& look);
void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t queue,
            std::int64_t delta);
Debt owed(const CounterState& state, const Terms& terms, const Request& request);
void restore(CounterState& state, const Terms& terms, const Request& request, const Debt& debt);

}  // namespace weir::limit::bucket
