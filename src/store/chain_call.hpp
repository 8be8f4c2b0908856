// SPDX-License-Identifier: Apache-2.0
// The wire between a ChargeSet and lua/chain.lua: KEYS and ARGV one way, the flat array of integers the
// other. lua/README.md describes both.
#pragma once

#include <string_view>

#include "redis/script.hpp"
#include "weir/limit/decision.hpp"

namespace weir::store {

// decide, peek: every layer. A decide with a lease on any layer goes out as `lease`.
void write_question(const limit::ChargeSet& set, std::string_view operation, redis::ScriptArguments& out);

// settle: the charged layers but concurrency; release, renew: the charged concurrency layers. Layers that
// this store did not answer are left out. False: there is none, nothing to send.
bool write_notice(const limit::ChargeSet& set, std::string_view operation, std::int64_t delta,
                  redis::ScriptArguments& out);

// Fills verdicts, charged, answered, now. False, with the set half filled: this is no answer to a question.
bool read_answer(const redis::Reply& reply, limit::ChargeSet& set);

}  // namespace weir::store
