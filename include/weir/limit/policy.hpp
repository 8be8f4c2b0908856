// SPDX-License-Identifier: Apache-2.0
// A Policy is one quota as compiled from the configuration: how many permits per window, counted how, and
// what happens beyond. Immutable; owned by the Runtime, shared by every worker by plain pointer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::limit {

// The spelling of each name in YAML, Lua, metrics and tests is the enumerator's.
enum class AlgorithmKind : std::uint8_t {
  fixed_window,  // one count per window; windows of each key start at a hashed offset, or at calendar bounds
  sliding_window,   // N cells; never more than the limit in any window (`keep` of quota.md A.3)
  sliding_counter,  // two buckets, weighted; cheap and approximate
  sliding_log,      // one entry per permit; exact; for small limits
  token_bucket,     // scaled integers, refilled lazily
  gcra,             // theoretical arrival time; the bucket in one number
  leaky_bucket,     // a token bucket that may go negative: callers wait up to max_wait
  concurrency,      // permits in flight; each is a slot that expires unless renewed
};
inline constexpr std::size_t kAlgorithmCount = 8;

// The numbers an algorithm works with. Every product an algorithm forms stays within 2^53 (doubles in Lua are
// exact up to there): the configuration refuses limit * window_ms, burst * window_ms beyond it.
struct Terms {
  AlgorithmKind algorithm = AlgorithmKind::token_bucket;
  std::int64_t limit = 0;        // permits per window, at least 1
  std::int64_t window_ms = 0;    // 1 s .. 31 d; concurrency: the life of an unrenewed slot
  std::int64_t burst = 0;        // capacity of token_bucket, gcra, leaky_bucket; else equal to limit
  std::int64_t max_wait_ms = 0;  // leaky_bucket: the longest wait that is granted
  std::int64_t cells = 0;        // sliding_window: 2 .. 100
  bool calendar = false;         // fixed_window over calendar days or months: bounds come with each Charge

  bool operator==(const Terms&) const = default;
};

enum class Access : std::uint8_t { limited, unlimited, blocked };

// shadow: judges, counts and logs, never refuses; charges when its own verdict and the request pass.
enum class Enforcement : std::uint8_t { enforce, shadow };

enum class OnExceed : std::uint8_t { reject, queue, delay };

// What a layer says while the store cannot answer.
enum class FailureMode : std::uint8_t {
  local,  // this process counts alone, with its share of the limit
  allow,  // lets the request through uncounted
  deny,   // 503 with Retry-After
};

// Calendar windows (`day`, `month`): which, and in which time zone.
enum class CalendarUnit : std::uint8_t { none, day, month };

// Where a layer is counted.
enum class Scope : std::uint8_t {
  fleet,     // in the store that all instances of the region share
  instance,  // in each process by itself, never in a shared store
  global,    // in the parent store that all regions share
};
std::string_view name_of(Scope scope) noexcept;

struct Policy {
  std::string layer;   // name of its layer: metrics label, RateLimit-Policy name, log field
  std::string source;  // where it was written, "quotas.yaml:12:9", for explain
  Terms terms;
  Access access = Access::limited;
  Enforcement enforcement = Enforcement::enforce;
  std::uint8_t enforce_percent = 100;  // share of keys (by stable hash) that enforce; the rest shadow
  std::int64_t warn_at = 0;            // used permits from which a warning is counted; 0 = never
  OnExceed on_exceed = OnExceed::reject;
  std::int64_t max_delay_ms = 0;  // on_exceed delay: the longest hold
  FailureMode on_brief_failure = FailureMode::local;
  FailureMode on_long_failure = FailureMode::local;
  CalendarUnit calendar = CalendarUnit::none;
  std::string time_zone;      // IANA name; calendar windows only
  bool hashed_offset = true;  // fixed_window, sliding_counter: false = windows start at the epoch's multiples
  Scope scope = Scope::fleet;
};

std::string_view name_of(AlgorithmKind kind) noexcept;

// What a counter holds when nothing is used: the burst of bucket kinds, else the limit.
constexpr std::int64_t capacity_of(const Terms& terms) noexcept {
  const bool bucket = terms.algorithm == AlgorithmKind::token_bucket ||
                      terms.algorithm == AlgorithmKind::gcra ||
                      terms.algorithm == AlgorithmKind::leaky_bucket;
  return bucket ? terms.burst : terms.limit;
}

}  // namespace weir::limit
