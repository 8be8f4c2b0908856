// SPDX-License-Identifier: Apache-2.0
// Finds the most specific path pattern that matches a method and a normalised path. Serves routes, API
// templates, classes and exempt paths.
//
// More specific: compare segment by segment from the left, a literal beats {name}, {name} beats **; with
// equal paths a pattern with the request's method beats one without. Immutable after build.
//
// {name} matches one non-empty segment, ** any number of segments, none included: /report/** matches /report.
// Segments are compared with their escapes decoded, so that /%40me and /@me, which servers route alike, are
// one api. A HEAD request falls back to the pattern of GET, since servers answer it with GET's handler.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/identity/options.hpp"

namespace weir::identity {

// "METHOD /path" or "/path" into its parts. nullopt if it is no valid pattern (`why` says what is wrong). A
// pattern must be written in the normal form of path_normal.hpp, apart from {name} and **.
std::optional<PathPattern> parse_path_pattern(std::string_view text, std::string& why);

class PathTable {
 public:
  PathTable();
  explicit PathTable(std::span<const PathPattern> patterns, bool fold_case = false);
  // Folds the patterns as the paths are folded (case and trailing slash). Of equal patterns the first counts.
  PathTable(std::span<const PathPattern> patterns, const PathOptions& options);
  ~PathTable();
  PathTable(PathTable&&) noexcept;
  PathTable& operator=(PathTable&&) noexcept;

  // Index of the pattern (in the order given) that matches best; nullopt if none does.
  std::optional<std::size_t> find(std::string_view method, std::string_view normal_path) const;

  // The index of the first pattern with the same method and the same path (names of {name} and folding do not
  // count): the one that gets every request `pattern` could. Anything else that overlaps is less or more
  // specific and leaves `pattern` reachable. For "unreachable route" diagnostics: pattern n is one if this is
  // below n.
  std::optional<std::size_t> duplicate_of(const PathPattern& pattern) const;

 private:
  struct Node;
  void add(const PathPattern& pattern, std::size_t index);

  std::unique_ptr<Node> root_;
  bool fold_case_ = false;
  bool fold_trailing_slash_ = false;
};

}  // namespace weir::identity
