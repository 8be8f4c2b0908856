// SPDX-License-Identifier: Apache-2.0
// Decides a chain whose counters are all at hand: what a store in this process does under its locks, and what
// lua/chain.lua does on the server.
#pragma once

#include <span>

#include "weir/limit/decision.hpp"

namespace weir::limit {

// states[n] is the counter of set.charge[n]; now_ms of every request is set. Fills in every verdict and
// `charged`, and changes the states by the set's accounting:
//   all_or_none  judge all; if no enforcing layer refuses, charge them all
//   relaxed      judge and charge in chain order up to the first that refuses
// A shadow layer is charged when its own verdict passes and the request is not refused. A request for 0
// permits charges nothing. With all_or_none, leases are granted and taken back as limit::Lease says. What a
// clock step back broke is repaired, charged or not.
void decide_counters(ChargeSet& set, std::span<CounterState* const> states);

}  // namespace weir::limit
