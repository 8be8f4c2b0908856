// SPDX-License-Identifier: Apache-2.0
// YAML (and JSON) text into a Node tree. Stricter than YAML on purpose: what a reader of the file could
// misjudge is refused (duplicate keys, anchors and aliases, tags, merge keys, tabs in the indentation, a
// second document, bad UTF-8), and so is what only an attack needs (depth, number of nodes).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/diagnostics.hpp"
#include "config/node.hpp"

namespace weir::config {

inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxNodes = 1'000'000;

enum class Environment : std::uint8_t {
  keep,    // ${NAME} is ordinary text
  expand,  // ${NAME} in a scalar becomes the variable's value; unset is an error; $${ stands for ${
};

// Reads one document. Errors go to `diagnostics` under the file index `file`; nullopt when there is no tree
// at all. A tree with errors in it (duplicate keys) is returned, so that later stages can add theirs.
std::optional<Node> read_yaml(std::string_view text, std::uint32_t file, Environment environment,
                              Diagnostics& diagnostics);

// The same for JSON: about twenty times as fast, for very large lists.
std::optional<Node> read_json(std::string_view text, std::uint32_t file, Diagnostics& diagnostics);

// The line and column of a byte offset.
Position position_of(std::string_view text, std::size_t offset, std::uint32_t file);

}  // namespace weir::config
