// SPDX-License-Identifier: Apache-2.0
// Builds a Node tree from parse events, whatever format they come from. Guards depth and size, and reports
// duplicate keys (the first one stays).
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "config/diagnostics.hpp"
#include "config/node.hpp"

namespace weir::config {

// Thrown to leave a parser from inside one of its events; never leaves the reader.
struct Refused {
  Position at;
  std::string why;
};

class TreeBuilder {
 public:
  explicit TreeBuilder(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // True where the next scalar is a key.
  bool expects_key() const noexcept { return !open_.empty() && open_.back().awaits_key; }

  void add(Node node);                      // a scalar or null: a key, a value, an item or the root
  void open(Node::Kind kind, Position at);  // a map or a sequence
  void close();

  Node take() { return std::move(root_); }

 private:
  struct Level {
    Node* node = nullptr;     // stays where it is: while a level is open nothing is added beside it
    bool awaits_key = false;  // map: the next node is a key
    bool duplicate = false;   // map: the next value belongs to a duplicate key
    std::string key;
    Position key_at;
    std::unordered_map<std::string, Position> seen;
    Node dropped;  // where a duplicate key's value goes
  };

  void take_key(Node node);
  Node* place(Node node);

  Diagnostics& diagnostics_;
  Node root_;
  std::deque<Level> open_;
  std::size_t nodes_ = 0;
};

// Offset of the first byte that is not UTF-8, or is a control character; text.size() if there is none.
std::size_t first_bad_character(std::string_view text) noexcept;

}  // namespace weir::config
