// SPDX-License-Identifier: Apache-2.0
// A token bucket whose level may go negative: a request granted below zero waits until its permits have
// flowed in, at most about max_wait_ms. State and arithmetic: bucket.hpp.
#include "limit/algorithms/bucket.hpp"

namespace weir::limit {
namespace {

// floor(max_wait * limit / window), without the large product.
std::int64_t queue_of(const Terms& terms) {
  const std::int64_t windows = terms.max_wait_ms / terms.window_ms;
  const std::int64_t rest = terms.max_wait_ms % terms.window_ms;
  return windows * terms.limit + rest * terms.limit / terms.window_ms;
}

Look judge(const CounterState& state, const Terms& terms, const Request& request) {
  return bucket::judge(state, terms, request, queue_of(terms));
}

void settle(CounterState& state, const Terms& terms, const Request& request, std::int64_t,
            std::int64_t delta) {
  bucket::settle(state, terms, request, queue_of(terms), delta);
}

}  // namespace

const Algorithm kLeakyBucket{AlgorithmKind::leaky_bucket,
                             "leaky_bucket",
                             judge,
                             bucket::charge,
                             write_words,
                             settle,
                             ignore_slot,
                             ignore_slot,
                             bucket::owed,
                             bucket::restore};

}  // namespace weir::limit
