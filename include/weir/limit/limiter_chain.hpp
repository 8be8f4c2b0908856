// SPDX-License-Identifier: Apache-2.0
// The ordered AND chain of layers: from who asks to what is charged. Pure; the store does the counting.
//
// `limit` knows nothing of HTTP and nothing of identity extraction: a Descriptor is a view of values by
// index, and the configuration compiles which indices form each layer's key.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/limit/decision.hpp"
#include "weir/limit/policy.hpp"

namespace weir::limit {

enum class Fact : std::uint8_t { absent, present, anonymous };

struct DescriptorEntry {
  std::string_view text;
  Fact fact = Fact::absent;
};

// Whose quota is charged: the value of each dimension, by its index (see identity/identity.hpp for the
// indices).
struct Descriptor {
  std::span<const DescriptorEntry> entries;
  bool exempt = false;      // use the exempt lane's own counters and limits
  std::int64_t cost = 1;    // permits this request takes, at least 1
  std::uint64_t owner = 0;  // concurrency slot owner, unique per request and process, below 2^53
};

// One override: a policy, valid in [from_ms, until_ms) of wall time.
struct Override {
  const Policy* policy = nullptr;
  std::int64_t from_ms = INT64_MIN;
  std::int64_t until_ms = INT64_MAX;
};

// Which policy holds for a key of this layer. The most specific match wins:
// nested override of the caller (by own value, then its default) > override by own value > `anonymous` (for a
// missing value) > tier > default. A null default means: this layer applies only where an override matches.
class PolicyTable {
 public:
  PolicyTable();
  ~PolicyTable();
  PolicyTable(PolicyTable&&) noexcept;
  PolicyTable& operator=(PolicyTable&&) noexcept;

  // Takes ownership; the returned pointer lives as long as the table.
  const Policy* own(Policy policy);

  void set_default(const Policy* policy);
  void set_anonymous(const Policy* policy);
  void add_tier(std::string_view tier, const Policy* policy);
  // Several overrides of one value: the first added that is valid at the time holds.
  void add_override(std::string_view value, Override override);
  // Inside caller `caller`'s override: limits for this layer's values / the layer's default there.
  void add_nested(std::string_view caller, std::string_view value, Override override);
  void set_nested_default(std::string_view caller, Override override);

  // `value`, `caller`, `tier` may be absent. nullptr: the layer does not apply to this request.
  const Policy* find(const DescriptorEntry& value, const DescriptorEntry& caller, const DescriptorEntry& tier,
                     std::int64_t wall_ms) const;

  // The default; nullptr if there is none.
  const Policy* usual() const noexcept;
  // The default, if nothing but it is ever found.
  const Policy* only() const noexcept;
  // When its overrides end, wall time, one entry for each that does.
  const std::vector<std::int64_t>& override_ends() const noexcept;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

struct Layer {
  std::string name;
  std::vector<std::uint8_t> key;       // dimension indices, root to leaf; the last one is "own value"
  std::vector<std::string> key_names;  // the same by name, for explain and for the counter key
  PolicyTable policies;
  PolicyTable exempt;  // the exempt lane's, usually limits times factor
  // QM-2: for the APIs listed (by api value), this layer moves before the layer at `priority_before`.
  std::vector<std::string> priority_values;
};

// Immutable after build; shared by all workers.
class LimiterChain {
 public:
  struct Options {
    std::string node;  // root of every key
    Accounting accounting = Accounting::all_or_none;
    std::uint8_t caller_dimension = 1;
    std::uint8_t tier_dimension = 7;
    std::uint8_t api_dimension = 3;
    std::string priority_layer = "api";    // the layer that moves ...
    std::string priority_before = "user";  // ... before this one
  };
  LimiterChain(Options options, std::vector<Layer> layers);
  ~LimiterChain();
  LimiterChain(LimiterChain&&) noexcept;
  LimiterChain& operator=(LimiterChain&&) noexcept;

  // Fills `set` with one Charge per layer that applies, in chain order. Layers whose policy is `unlimited`
  // add nothing. Returns the name of the first layer in chain order whose policy is `blocked`, else "".
  std::string_view build(const Descriptor& who, std::int64_t wall_ms, ChargeSet& set) const;

  std::span<const Layer> layers() const noexcept;
  const Options& options() const noexcept;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace weir::limit
