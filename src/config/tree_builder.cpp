// SPDX-License-Identifier: Apache-2.0
#include "config/tree_builder.hpp"

#include "config/yaml_reader.hpp"

namespace weir::config {

void TreeBuilder::take_key(Node node) {
  if (node.kind != Node::Kind::scalar || node.text.empty()) {
    throw Refused{node.at, "a key has to be a word"};
  }
  if (node.text == "<<" && !node.quoted) throw Refused{node.at, "merge keys (<<) are not supported"};
  Level& level = open_.back();
  level.awaits_key = false;
  const auto [known, fresh] = level.seen.try_emplace(node.text, node.at);
  level.duplicate = !fresh;
  if (!fresh) {
    const Position first = known->second;
    diagnostics_.error(node.at, {},
                       "duplicate key `" + node.text + "`; it stands at " + std::to_string(first.line) + ":" +
                           std::to_string(first.column) + " already");
  }
  level.key = std::move(node.text);
  level.key_at = node.at;
}

Node* TreeBuilder::place(Node node) {
  if (++nodes_ > kMaxNodes) throw Refused{node.at, "more than 1000000 values in one file"};
  if (open_.empty()) {
    root_ = std::move(node);
    return &root_;
  }
  Level& level = open_.back();
  if (level.node->kind == Node::Kind::sequence) {
    level.node->items.push_back(std::move(node));
    return &level.node->items.back();
  }
  level.awaits_key = true;
  if (level.duplicate) {
    level.dropped = std::move(node);
    return &level.dropped;
  }
  level.node->entries.push_back({std::move(level.key), level.key_at, std::move(node)});
  return &level.node->entries.back().value;
}

void TreeBuilder::add(Node node) {
  if (expects_key()) {
    take_key(std::move(node));
    return;
  }
  place(std::move(node));
}

void TreeBuilder::open(Node::Kind kind, Position at) {
  if (expects_key()) throw Refused{at, "a key has to be a word"};
  if (open_.size() == kMaxDepth) throw Refused{at, "nested deeper than 32 levels"};
  Node node;
  node.kind = kind;
  node.at = at;
  Node* const placed = place(std::move(node));
  open_.emplace_back();
  open_.back().node = placed;
  open_.back().awaits_key = kind == Node::Kind::map;
}

void TreeBuilder::close() {
  open_.pop_back();
}

namespace {

// Length of the UTF-8 sequence that starts here; 0 if it is none (overlong forms and surrogates included) or
// a control character.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [text](std::size_t n) {
    return n < text.size() ? static_cast<unsigned char>(text[n]) : std::uint8_t{0};
  };
  const auto follows = [&byte](std::size_t n, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(n) >= low && byte(n) <= high;
  };
  const unsigned first = byte(0);
  const bool control = first < 0x20 && first != '\t' && first != '\n' && first != '\r';
  if (first < 0x7F) return control ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::size_t first_bad_character(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return at;
}

}  // namespace weir::config
