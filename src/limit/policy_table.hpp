// SPDX-License-Identifier: Apache-2.0
// The look-ups behind PolicyTable. Hash tables are searched with string views; a table without overrides,
// tiers and nested sections costs no hash.
#pragma once

#include <deque>
#include <optional>

#include "base/string_map.hpp"
#include "weir/limit/limiter_chain.hpp"

namespace weir::limit {

// Overrides of one value in the order they were added; the first that is valid holds.
using Overrides = std::vector<Override>;

struct NestedTable {
  StringMap<Overrides> by_value;
  Overrides fallback;
};

struct PolicyTable::Tables {
  std::deque<Policy> owned;
  const Policy* fallback = nullptr;
  const Policy* anonymous = nullptr;
  StringMap<const Policy*> tiers;
  StringMap<Overrides> overrides;
  StringMap<NestedTable> nested;
  std::vector<std::int64_t> ends;  // of all overrides, nested ones too
  bool only_default = true;        // all else is empty

  void note(const Override& override) {
    only_default = false;
    if (override.until_ms != INT64_MAX) ends.push_back(override.until_ms);
  }
};

}  // namespace weir::limit
