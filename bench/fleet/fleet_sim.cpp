// SPDX-License-Identifier: Apache-2.0
// Prints what permit leases cost and what they keep, for fleets of 2 to 256 instances: cells are
// over % of the worst window / under % / store calls per request / % of requests that waited / % of the
// permits lent that lapsed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "simulation.hpp"

namespace {

using namespace weir;
using bench::Load;
using bench::Outcome;
using limit::AlgorithmKind;

const std::vector<std::size_t> kSizes{2, 8, 32, 64, 128, 256};

limit::Policy policy_of(AlgorithmKind kind, std::int64_t limit, std::int64_t window_ms) {
  limit::Policy policy;
  policy.layer = limit::name_of(kind);
  policy.terms = {kind, limit, window_ms, limit, 0, 10, false};
  return policy;
}

store::LeaseOptions counting(store::Counting how) {
  store::LeaseOptions options;
  options.counting = how;
  options.max_keys = 1024;
  return options;
}

void cell(const Outcome& outcome) {
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  std::printf(" %.1f / %.1f / %.4f / %.1f / %.2f |", outcome.over_percent, outcome.under_percent,
              share(outcome.calls, outcome.counted), 100 * share(outcome.waited, outcome.offered),
              100 * share(outcome.lapsed, outcome.lent));
  std::fflush(stdout);
}

void head(const char* title, const char* first) {
  std::printf("\n**%s**\n\n| %s |", title, first);
  for (const std::size_t size : kSizes) std::printf(" N=%zu |", size);
  std::printf("\n|---|");
  for (std::size_t n = 0; n < kSizes.size(); ++n) std::printf("---|");
  std::printf("\n");
}

void row(const char* name, const limit::Policy& policy, Load load, store::Counting how) {
  std::printf("| %s |", name);
  for (const std::size_t size : kSizes) {
    load.instances = size;
    cell(bench::simulate(policy, counting(how), load));
  }
  std::printf("\n");
}

// One hot key at one and a half times its limit, of which a process sees `rate` requests a second.
void every_algorithm(double rate, std::int64_t window_ms) {
  const double per_window = rate * static_cast<double>(window_ms) / 1000;
  std::printf(
      "\n**every algorithm that leases, 1.5x; each process sees %.0f requests a second, %.0f a window of "
      "%.1f s;"
      " under against an exact run**\n\n",
      rate, per_window, static_cast<double>(window_ms) / 1000);
  std::printf("| algorithm | N=2 | N=4 | N=8 | N=32 |\n|---|---|---|---|---|\n");
  for (const AlgorithmKind kind :
       {AlgorithmKind::fixed_window, AlgorithmKind::sliding_window, AlgorithmKind::sliding_counter,
        AlgorithmKind::token_bucket, AlgorithmKind::gcra}) {
    std::printf("| %s |", std::string(limit::name_of(kind)).c_str());
    for (const std::size_t size : {2, 4, 8, 32}) {
      Load load;
      load.instances = size;
      load.per_second = rate * static_cast<double>(size);
      load.for_ms = std::max<std::int64_t>(10 * window_ms, 30'000);
      const auto limit = static_cast<std::int64_t>(per_window * static_cast<double>(size) / 1.5);
      const limit::Policy policy = policy_of(kind, limit, window_ms);
      const Outcome exact = bench::simulate(policy, counting(store::Counting::exact), load);
      cell(bench::simulate(policy, counting(store::Counting::automatic), load, exact.allowed));
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  const auto automatic = store::Counting::automatic;
  const limit::Policy big = policy_of(AlgorithmKind::fixed_window, 20'000, 10'000);
  const limit::Policy quick = policy_of(AlgorithmKind::fixed_window, 1'000, 1'000);
  const limit::Policy small = policy_of(AlgorithmKind::fixed_window, 3'000, 10'000);

  head("one hot key, 20000 in 10 s", "load");
  row("1.5x, even", big, {.per_second = 3000}, automatic);
  row("1.2x, moving skew", big, {.per_second = 2400, .instance_skew = 0.8, .reshuffle_ms = 1000}, automatic);
  row("0.9x, moving skew", big, {.per_second = 1800, .instance_skew = 0.8, .reshuffle_ms = 1000}, automatic);
  row("1.5x, 1 % of answers lost", big, {.per_second = 3000, .lost_replies = 0.01}, automatic);
  row("1.5x, one dies every 2 s", big, {.per_second = 3000, .kill_every_ms = 2000}, automatic);
  row("1.5x, counted exactly", big, {.per_second = 3000, .for_ms = 20'000}, store::Counting::exact);

  head("one hot key, 20000 in 10 s, 1.5x; the store loses its counters in the middle of each window", "then");
  row("nothing is told", big,
      {.per_second = 3000, .lose_every_ms = 10'000, .after_loss = bench::AfterLoss::silent}, automatic);
  row("what was last seen is told", big, {.per_second = 3000, .lose_every_ms = 10'000}, automatic);
  row("told, moving skew", big,
      {.per_second = 3000, .instance_skew = 0.8, .reshuffle_ms = 1000, .lose_every_ms = 10'000}, automatic);
  row("told, 0.9x", big, {.per_second = 1800, .lose_every_ms = 10'000}, automatic);

  head("one hot key, 1000 in 1 s", "load");
  row("2x, even", quick, {.per_second = 2000, .for_ms = 10'000}, automatic);

  head("200 keys by Zipf (1.1), 3000 in 10 s each, 6000 requests/s", "load");
  row("all keys", small, {.keys = 200, .per_second = 6000, .for_ms = 20'000}, automatic);

  every_algorithm(150, 10'000);
  every_algorithm(27, 10'000);
  every_algorithm(39, 4'000);
  every_algorithm(27, 3'200);
  return EXIT_SUCCESS;
}
