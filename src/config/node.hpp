// SPDX-License-Identifier: Apache-2.0
// A small tree of what a configuration file says, with the position of every key and value. YAML and JSON
// files both become this tree; everything after it reads only the tree.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::config {

// Where something was written. `file` is an index into Diagnostics' files; line and column count from 1, and
// line 0 means "the file as a whole".
struct Position {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const Position&) const = default;
};

struct Entry;

struct Node {
  enum class Kind : std::uint8_t { null, scalar, sequence, map };

  Kind kind = Kind::null;
  bool quoted = false;  // scalar in quotes: always text, never a word such as `none`
  Position at;
  std::string text;                      // scalar, after ${NAME} was replaced
  std::unique_ptr<std::string> written;  // the scalar before that, where it differs: what messages may quote
  std::vector<Node> items;               // sequence
  std::vector<Entry> entries;            // map, in order, keys unique

  // What a message may show of a scalar: never the value of an environment variable.
  const std::string& shown() const { return written ? *written : text; }
};

struct Entry {
  std::string key;
  Position at;
  Node value;
};

// "a number", "a list" ... for messages.
inline const char* kind_name(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return "a single value";
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::map:
      return "a section";
  }
  return "";
}

}  // namespace weir::config
