// SPDX-License-Identifier: Apache-2.0
#include "identity/path_table.hpp"

#include <algorithm>
#include <utility>

#include "base/string_map.hpp"
#include "identity/path_normal.hpp"
#include "identity/percent.hpp"
#include "identity/trim.hpp"

namespace weir::identity {
namespace {

constexpr std::string_view kRest = "**";

bool is_name(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}' &&
         std::all_of(segment.begin() + 1, segment.end() - 1, [](char c) { return is_unreserved(c); });
}

// Takes the first segment off `path`, which starts with a slash.
std::string_view take_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

// The form in which segments are compared: every escape decoded, case folded where asked. A view of `segment`
// itself where nothing changes.
std::string_view comparable(std::string_view segment, bool fold_case, std::string& buffer) {
  const auto changes = [fold_case](char c) { return c == '%' || (fold_case && c >= 'A' && c <= 'Z'); };
  if (std::none_of(segment.begin(), segment.end(), changes)) return segment;
  buffer.clear();
  for (std::size_t n = 0; n < segment.size(); ++n) {
    char c = segment[n];
    if (const int octet = decode_escape(segment.substr(n)); octet >= 0) {
      c = static_cast<char>(octet);
      n += 2;
    }
    buffer += fold_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  return buffer;
}

// "" if `path` is well formed, else what is wrong.
std::string fault_of_path(std::string_view path) {
  if (!path.starts_with('/')) return "must start with a slash";
  std::string plain;  // the pattern with its wildcards replaced: must be in normal form
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view segment = take_segment(rest);
    const bool wild = segment.find_first_of("{}*") != segment.npos;
    if (segment == kRest && !rest.empty()) return "** must be the last segment";
    if (wild && segment != kRest && !is_name(segment)) {
      return "'" + std::string(segment) + "' is no segment; write a literal, {name}, or ** as the last one";
    }
    plain += '/';
    plain += wild ? std::string_view("x") : segment;
  }
  std::string buffer;
  std::string_view normal;
  PathOptions options;
  options.keep_encoded_slash = true;
  if (const PathFault fault = normalise_path(plain, options, buffer, normal); fault != PathFault::none) {
    return std::string(reason_of(fault));
  }
  if (normal != plain)
    return "is not in its normal form, no request can match it; write " + std::string(normal);
  return "";
}

}  // namespace

std::optional<PathPattern> parse_path_pattern(std::string_view text, std::string& why) {
  text = trim(text);
  const std::size_t gap = text.find_first_of(" \t");
  PathPattern pattern;
  pattern.text = text;
  if (gap != text.npos) {
    pattern.method = text.substr(0, gap);
    pattern.path = trim(text.substr(gap));
    pattern.text = pattern.method + ' ' + pattern.path;
  } else {
    pattern.path = text;
  }
  const auto is_method_letter = [](char c) { return (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; };
  if (!std::all_of(pattern.method.begin(), pattern.method.end(), is_method_letter)) {
    why = "'" + pattern.method + "' is no method; methods are upper case, as in POST /path";
    return std::nullopt;
  }
  why = fault_of_path(pattern.path);
  if (!why.empty()) return std::nullopt;
  return pattern;
}

struct PathTable::Node {
  // The patterns that end at one place, by method. Rarely more than three.
  struct Ends {
    std::vector<std::pair<std::string, std::size_t>> by_method;  // "" = any

    std::optional<std::size_t> exact(std::string_view method) const {
      for (const auto& [own, index] : by_method) {
        if (own == method) return index;
      }
      return std::nullopt;
    }
    std::optional<std::size_t> best(std::string_view method) const {
      if (by_method.empty()) return std::nullopt;
      if (const auto own = exact(method)) return own;
      if (method == "HEAD") {
        if (const auto get = exact("GET")) return get;
      }
      return exact("");
    }
  };
  struct Query {
    std::string_view method;
    bool fold_case = false;
    std::string buffer;
  };

  StringMap<std::unique_ptr<Node>> literals;
  std::unique_ptr<Node> name;
  Ends here;
  Ends rest;

  // Depth is bounded by the patterns', not by the path's. An empty path: all segments are consumed.
  std::optional<std::size_t> find(std::string_view path, Query& query) const {
    if (path.empty()) {
      if (const auto end = here.best(query.method)) return end;
      return rest.best(query.method);
    }
    std::string_view after = path;
    const std::string_view segment = take_segment(after);
    if (!literals.empty()) {
      const auto child = literals.find(comparable(segment, query.fold_case, query.buffer));
      if (child != literals.end()) {
        if (const auto found = child->second->find(after, query)) return found;
      }
    }
    if (name != nullptr && !segment.empty()) {
      if (const auto found = name->find(after, query)) return found;
    }
    return rest.best(query.method);
  }
};

PathTable::PathTable() : root_(std::make_unique<Node>()) {}
PathTable::~PathTable() = default;
PathTable::PathTable(PathTable&&) noexcept = default;
PathTable& PathTable::operator=(PathTable&&) noexcept = default;

PathTable::PathTable(std::span<const PathPattern> patterns, bool fold_case) : PathTable() {
  fold_case_ = fold_case;
  for (std::size_t n = 0; n < patterns.size(); ++n) add(patterns[n], n);
}

PathTable::PathTable(std::span<const PathPattern> patterns, const PathOptions& options) : PathTable() {
  fold_case_ = options.fold_case;
  fold_trailing_slash_ = options.fold_trailing_slash;
  for (std::size_t n = 0; n < patterns.size(); ++n) add(patterns[n], n);
}

namespace {

std::string_view folded(std::string_view path, bool fold_trailing_slash) {
  if (fold_trailing_slash && path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

void PathTable::add(const PathPattern& pattern, std::size_t index) {
  Node* node = root_.get();
  std::string buffer;
  std::string_view path = folded(pattern.path, fold_trailing_slash_);
  bool rest = false;
  while (!path.empty() && !rest) {
    const std::string_view segment = take_segment(path);
    rest = segment == kRest;
    if (rest) break;
    auto& child =
        is_name(segment) ? node->name : node->literals[std::string(comparable(segment, fold_case_, buffer))];
    if (child == nullptr) child = std::make_unique<Node>();
    node = child.get();
  }
  Node::Ends& ends = rest ? node->rest : node->here;
  if (!ends.exact(pattern.method)) ends.by_method.emplace_back(pattern.method, index);
}

std::optional<std::size_t> PathTable::find(std::string_view method, std::string_view normal_path) const {
  Node::Query query{method, fold_case_, {}};
  if (!normal_path.starts_with('/')) return root_->rest.best(method);
  return root_->find(normal_path, query);
}

std::optional<std::size_t> PathTable::duplicate_of(const PathPattern& pattern) const {
  const Node* node = root_.get();
  std::string buffer;
  for (std::string_view path = folded(pattern.path, fold_trailing_slash_); !path.empty();) {
    const std::string_view segment = take_segment(path);
    if (segment == kRest) return node->rest.exact(pattern.method);
    if (is_name(segment)) {
      node = node->name.get();
    } else {
      const auto child = node->literals.find(comparable(segment, fold_case_, buffer));
      node = child == node->literals.end() ? nullptr : child->second.get();
    }
    if (node == nullptr) return std::nullopt;
  }
  return node->here.exact(pattern.method);
}

}  // namespace weir::identity
