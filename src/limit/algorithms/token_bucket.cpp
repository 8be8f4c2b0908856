// SPDX-License-Identifier: Apache-2.0
// A bucket of `burst` tokens, refilled at limit / window. State and arithmetic: bucket.hpp.
#include "limit/algorithms/bucket.hpp"

namespace weir::limit {
namespace {

Look judge(const CounterState& state, const Terms& terms, const Request& request) {
  return bucket::judge(state, terms, request, 0);
}

void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t,
            std::int64_t delta) {
  bucket::settle(state, terms, request, 0, delta);
}

}  // namespace

const Algorithm kTokenBucket{AlgorithmKind::token_bucket,
                             "token_bucket",
                             judge,
                             bucket::charge,
                             write_words,
                             settle,
                             ignore_slot,
                             ignore_slot,
                             bucket::owed,
                             bucket::restore};

}  // namespace weir::limit
