// SPDX-License-Identifier: Apache-2.0
// What a chain asks of a store (Charge, ChargeSet) and what it makes of the answers (Decision).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/limit/algorithm.hpp"
#include "weir/limit/policy.hpp"

namespace weir::limit {

inline constexpr std::size_t kMaxLayers = 16;
inline constexpr std::size_t kKeyBytes = 4096;  // of all counter keys of one request together

enum class Accounting : std::uint8_t {
  all_or_none,  // a refused request costs no layer anything
  relaxed,      // layers are charged in chain order; what was charged before the first refusal stays charged
};

// Where a verdict came from.
enum class Answered : std::uint8_t {
  store,        // counted where it belongs
  local,        // the store failed: counted in this process by its share
  failed_open,  // the store failed and the layer says allow: nothing was counted
  failed_shut,  // the store failed and the layer says deny
};

// Permits taken beyond a request's cost, for the requests to come (store/lease_store.hpp). The asker fills in
// the first part, the store the second. Of what remains after the cost the store grants
//   min(remaining, max(min(more, remaining * permille / 1000), least))
// and nothing if the request is refused. `back` is given back in any case, before the judging.
struct Lease {
  struct Spent {
    std::int64_t count = 0;
    std::int64_t at_ms = 0;  // store_now_ms of the call that granted them
  };
  // What an earlier call left used of a fixed window, for a server that may have lost it since: it counts
  // what is larger, its own count or this, unless the window is another or the counter was reset after
  // `at_ms`.
  struct Seen {
    std::int64_t used = 0;
    std::int64_t ends_ms = 0;  // of the window; 0: there is nothing to tell
    std::int64_t at_ms = 0;    // store_now_ms of that call
  };
  std::int64_t more = 0;
  std::int64_t least = 0;
  std::int64_t permille = 1000;
  std::int64_t life_ms = 0;    // none of them is spent later than this; a store may shorten it
  std::array<Spent, 2> back;   // permits of earlier leases that were not used
  std::array<Spent, 2> spent;  // bucket kinds: used of earlier leases, and not reported yet
  Seen seen;
  std::int64_t demand = 0;  // permits that the asker was asked for since its last call with a lease, about

  std::int64_t granted = 0;
  std::int64_t next_ms = 0;  // until one more permit is there; 0: there is one
};

// What one layer wants to take, and the store's answer.
struct Charge {
  const Policy* policy = nullptr;                  // never null; access == limited
  std::string_view key;                            // counter key, into ChargeSet::keys
  Request request;                                 // now_ms is filled in by the store
  Enforcement enforcement = Enforcement::enforce;  // the policy's, after enforce_percent
  Answered answered = Answered::store;
  bool charged = false;  // permits were taken (a refused request: none, unless relaxed)
  Verdict verdict;
  Lease* lease = nullptr;  // with the request, or null: nothing beyond the cost

  bool enforces() const noexcept { return enforcement == Enforcement::enforce; }
  bool refuses() const noexcept { return enforces() && !verdict.within_limit; }
  // It is taken for as long as the request lasts.
  bool is_slot() const noexcept { return policy->terms.algorithm == AlgorithmKind::concurrency; }
};

// One request's charges in chain order. Lives in the request's pooled exchange from decide to the end of the
// request, since settle, release and renew need the keys again. Not copyable: charges point into `keys`.
struct ChargeSet {
  ChargeSet() = default;
  ChargeSet(const ChargeSet&) = delete;
  ChargeSet& operator=(const ChargeSet&) = delete;

  std::array<Charge, kMaxLayers> charge;
  std::size_t size = 0;
  Accounting accounting = Accounting::all_or_none;
  std::array<char, kKeyBytes> keys;
  std::size_t keys_used = 0;
  std::int64_t store_now_ms = 0;  // the store's clock when it decided; settle refers to it
  error_code store_error;         // set when the shared store could not answer

  std::span<Charge> charges() noexcept { return {charge.data(), size}; }
  std::span<const Charge> charges() const noexcept { return {charge.data(), size}; }
  void clear() noexcept {
    size = 0;
    keys_used = 0;
    store_now_ms = 0;
    store_error = {};
  }
};

enum class Outcome : std::uint8_t {
  allowed,
  over_limit,      // 429
  blocked,         // a key written `blocked`: 403
  cost_too_large,  // cost above a capacity: 413, no Retry-After
  store_down,      // a layer that says deny while the store is ill: 503
};

// The chain's answer. Indices are positions in the ChargeSet; kNoLayer where there is none.
struct Decision {
  static constexpr std::uint8_t kNoLayer = 255;

  Outcome outcome = Outcome::allowed;
  std::uint8_t final_hit = kNoLayer;  // first refusing layer in chain order: the one counted as the hit
  std::uint8_t tightest = kNoLayer;   // the layer with the smallest remaining share: its fields go on a 200
  std::uint32_t hits = 0;             // bit i: layer i refuses (enforcing layers only)
  std::uint32_t shadow_hits = 0;      // bit i: layer i would have refused
  std::uint32_t warnings = 0;         // bit i: layer i passed its warn_at
  std::int64_t retry_after_ms = 0;    // the largest any refusing layer asks; kNever if one can never pass
  std::int64_t wait_ms = 0;           // hold an allowed request this long first (leaky_bucket)
  bool delayable = false;  // refused, and every refusing layer says on_exceed: delay within its max_delay
  bool queueable = false;  // refused, and every refusing layer says on_exceed: queue
  std::string_view blocked_layer;  // outcome blocked: which layer

  bool allowed() const noexcept { return outcome == Outcome::allowed; }
};

// Reads the verdicts of an answered set into one decision. Pure.
Decision conclude(const ChargeSet& set) noexcept;

// The longest hold that every layer which refuses grants (on_exceed: delay), in milliseconds.
std::int64_t granted_delay_ms(const ChargeSet& set, const Decision& decision) noexcept;

}  // namespace weir::limit
