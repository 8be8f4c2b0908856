// SPDX-License-Identifier: Apache-2.0
#include "config/section.hpp"

#include <algorithm>

namespace weir::config {

std::string join_path(const std::string& section, std::string_view key) {
  return section.empty() ? std::string(key) : section + "." + std::string(key);
}

Section::Section(const Node& node, std::string path, Context& context)
    : path_(std::move(path)), at_(node.at), context_(context) {
  if (node.kind == Node::Kind::map) {
    map_ = &node;
  } else if (node.kind != Node::Kind::null) {
    context_.error(node, path_, std::string("is ") + kind_name(node.kind) + ", a section of keys is needed");
  }
}

std::string Section::path_of(std::string_view key) const {
  return join_path(path_, key);
}

const Node* Section::find_maybe_empty(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  if (context_.known_keys != nullptr) context_.known_keys->insert(std::string(key));
  if (map_ == nullptr) return nullptr;
  for (const Entry& entry : map_->entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const Node* Section::find(std::string_view key) {
  const Node* const node = find_maybe_empty(key);
  if (node == nullptr || node->kind != Node::Kind::null) return node;
  context_.diagnostics.error(at(key), path_of(key), "has no value; write one or leave the key out");
  return nullptr;
}

Position Section::at(std::string_view key) const {
  if (map_ == nullptr) return at_;
  for (const Entry& entry : map_->entries) {
    if (entry.key == key) return entry.at;
  }
  return at_;
}

void Section::error(std::string_view key, std::string text) const {
  context_.diagnostics.error(at(key), path_of(key), std::move(text));
}

void Section::finish() {
  if (map_ == nullptr) return;
  for (const Entry& entry : map_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    const std::string_view near = nearest(entry.key, known_);
    std::string text = "unknown key";
    if (near.empty()) {
      std::vector<std::string_view> sorted = known_;
      std::sort(sorted.begin(), sorted.end());
      text += "; known here: " + join_words(sorted);
    } else {
      text += "; did you mean `" + std::string(near) + "`?";
    }
    context_.diagnostics.error(entry.at, path_of(entry.key), std::move(text));
  }
}

void Section::wrong(const Node& node, std::string_view key, const std::string& why) {
  context_.error(node, path_of(key), "`" + node.shown() + "` " + why);
}

const Node* Section::scalar(std::string_view key) {
  const Node* const node = find(key);
  if (node == nullptr || node->kind == Node::Kind::scalar) return node;
  context_.error(*node, path_of(key),
                 std::string("is ") + kind_name(node->kind) + ", a single value is needed");
  return nullptr;
}

std::size_t Section::choose(std::string_view key, std::span<const std::string_view> names) {
  const Node* const node = scalar(key);
  if (node == nullptr) return SIZE_MAX;
  const auto found = std::find(names.begin(), names.end(), node->text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string why = "is not one of " + join_words(names);
  if (const std::string_view near = nearest(node->text, names); !near.empty()) {
    why += "; did you mean `" + std::string(near) + "`?";
  }
  wrong(*node, key, why);
  return SIZE_MAX;
}

void Section::not_supported(std::string_view key, std::span<const std::string_view> today) {
  const Node* const node = find_maybe_empty(key);
  if (node == nullptr) return;
  const bool scalar_today =
      node->kind == Node::Kind::scalar && std::find(today.begin(), today.end(), node->text) != today.end();
  if (scalar_today) return;
  std::string text = "is not supported by this version";
  text += today.empty() ? "; leave the key out" : "; leave the key out or write " + join_words(today);
  context_.diagnostics.error(at(key), path_of(key), std::move(text));
}

}  // namespace weir::config
