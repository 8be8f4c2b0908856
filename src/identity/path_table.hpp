// SPDX-License-Identifier: Apache-2.0
// Finds the most specific path pattern that matches a method and a normalised path. Serves routes, API
// templates, classes and exempt paths.
//
// More specific: compare segment by segment from the left, a literal beats {name}, {name} beats **; with
// equal paths a pattern with the request's method beats one without. Immutable after build.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/identity/options.hpp"

namespace weir::identity {

// "METHOD /path" or "/path" into its parts. nullopt if it is no valid pattern (`why` says what is wrong).
std::optional<PathPattern> parse_path_pattern(std::string_view text, std::string& why);

class PathTable {
 public:
  PathTable();
  explicit PathTable(std::span<const PathPattern> patterns, bool fold_case = false);
  ~PathTable();
  PathTable(PathTable&&) noexcept;
  PathTable& operator=(PathTable&&) noexcept;

  // Index of the pattern (in the order given) that matches best; nullopt if none does.
  std::optional<std::size_t> find(std::string_view method, std::string_view normal_path) const;

  // The index of an earlier pattern that is the same as `pattern` or catches everything it does; for
  // "unreachable route" diagnostics.
  std::optional<std::size_t> duplicate_of(const PathPattern& pattern) const;

 private:
  struct Node;
  std::unique_ptr<Node> root_;
  bool fold_case_ = false;
};

}  // namespace weir::identity
