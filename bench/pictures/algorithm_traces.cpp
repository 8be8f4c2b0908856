// SPDX-License-Identifier: Apache-2.0
// The same traffic through every algorithm, as the gateway counts it: prints one CSV line per request,
// `algorithm,at_ms,allowed,wait_ms`. bench/pictures/plot.py draws the handbook's pictures from it.
#include <cstdio>
#include <vector>

#include "weir/limit/algorithm.hpp"

namespace {

using weir::limit::AlgorithmKind;

constexpr std::int64_t kLimit = 20, kWindowMs = 10'000;

// One minute: half the limit, a burst on an idle counter, twice the limit, and a burst on either side of the
// end of a window.
std::vector<std::int64_t> traffic() {
  std::vector<std::int64_t> out;
  const auto steady = [&out](std::int64_t from_ms, std::int64_t to_ms, std::int64_t every_ms) {
    for (std::int64_t at = from_ms; at < to_ms; at += every_ms) out.push_back(at);
  };
  steady(0, 10'000, 1000);
  steady(14'000, 14'400, 10);
  steady(26'000, 38'000, 250);
  steady(49'500, 49'900, 20);
  steady(50'100, 50'500, 20);
  return out;
}

weir::limit::Terms terms_of(AlgorithmKind kind) {
  weir::limit::Terms terms;
  terms.algorithm = kind;
  terms.limit = terms.burst = kLimit;
  terms.window_ms = kWindowMs;
  if (kind == AlgorithmKind::sliding_window) terms.cells = 10;
  if (kind == AlgorithmKind::leaky_bucket) {
    terms.burst = 1;
    terms.max_wait_ms = 3000;
  }
  return terms;
}

void run(AlgorithmKind kind) {
  const weir::limit::Algorithm& rules = weir::limit::algorithm(kind);
  const weir::limit::Terms terms = terms_of(kind);
  weir::limit::CounterState state;
  for (const std::int64_t at : traffic()) {
    weir::limit::Request request;
    request.now_ms = 1'000'000'000 + at;  // a multiple of the window: fixed windows end at 10, 20 ... s
    const weir::limit::Look look = rules.judge(state, terms, request);
    std::int64_t wait_ms = 0;
    if (look.verdict.within_limit) wait_ms = rules.charge(state, terms, request, look).wait_ms;
    std::printf("%.*s,%lld,%d,%lld\n", static_cast<int>(rules.name.size()), rules.name.data(),
                static_cast<long long>(at), look.verdict.within_limit ? 1 : 0,
                static_cast<long long>(wait_ms));
  }
}

}  // namespace

int main() {
  std::puts("algorithm,at_ms,allowed,wait_ms");
  for (const AlgorithmKind kind :
       {AlgorithmKind::token_bucket, AlgorithmKind::gcra, AlgorithmKind::fixed_window,
        AlgorithmKind::sliding_window, AlgorithmKind::sliding_counter, AlgorithmKind::sliding_log,
        AlgorithmKind::leaky_bucket}) {
    run(kind);
  }
  return 0;
}
