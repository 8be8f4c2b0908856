// SPDX-License-Identifier: Apache-2.0
#include "config/section.hpp"

namespace weir::config {

bool Section::text(std::string_view key, std::string& out) {
  const Node* const node = scalar(key);
  if (node == nullptr) return false;
  out = node->text;
  return true;
}

bool Section::boolean(std::string_view key, bool& out) {
  static constexpr Word<bool> words[] = {{"true", true}, {"false", false}};
  return word(key, out, words);
}

namespace {

template <class T>
std::string outside(const T& least, const T& most, std::string_view unit) {
  return "is out of range; from " + std::to_string(least) + std::string(unit) + " to " +
         std::to_string(most) + std::string(unit);
}

// A time in the unit that shows it without loss.
std::string show(Milliseconds time) {
  const std::int64_t ms = time.count();
  if (ms % 86'400'000 == 0 && ms > 0) return std::to_string(ms / 86'400'000) + "d";
  if (ms % 3'600'000 == 0 && ms > 0) return std::to_string(ms / 3'600'000) + "h";
  if (ms % 1000 == 0 && ms > 0) return std::to_string(ms / 1000) + "s";
  return std::to_string(ms) + "ms";
}

std::string show_size(std::uint64_t bytes) {
  if (bytes >= 1 << 30 && bytes % (1 << 30) == 0) return std::to_string(bytes >> 30) + "GiB";
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + "MiB";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + "KiB";
  return std::to_string(bytes) + "B";
}

}  // namespace

bool Section::count(std::string_view key, std::int64_t& out, Range<std::int64_t> range) {
  const Node* const node = scalar(key);
  if (node == nullptr) return false;
  std::string why;
  const std::optional<std::int64_t> value = parse_count(node->text, why);
  if (value && *value >= range.least && *value <= range.most) {
    out = *value;
    return true;
  }
  wrong(*node, key, value ? outside(range.least, range.most, "") : why);
  return false;
}

bool Section::duration(std::string_view key, Milliseconds& out, Range<Milliseconds> range) {
  const Node* const node = scalar(key);
  if (node == nullptr) return false;
  std::string why;
  const std::optional<Milliseconds> value = parse_duration(node->text, why);
  if (value && *value >= range.least && *value <= range.most) {
    out = *value;
    return true;
  }
  if (value) why = "is out of range; from " + show(range.least) + " to " + show(range.most);
  wrong(*node, key, why);
  return false;
}

bool Section::duration_or_none(std::string_view key, Milliseconds& out, Range<Milliseconds> range) {
  const Node* const node = find(key);
  if (node == nullptr || node->kind != Node::Kind::scalar || node->text != "none") {
    return duration(key, out, range);
  }
  out = Milliseconds{0};
  return true;
}

bool Section::size(std::string_view key, std::uint64_t& out, Range<std::uint64_t> range) {
  const Node* const node = scalar(key);
  if (node == nullptr) return false;
  std::string why;
  const std::optional<std::uint64_t> value = parse_size(node->text, why);
  if (value && *value >= range.least && *value <= range.most) {
    out = *value;
    return true;
  }
  if (value) why = "is out of range; from " + show_size(range.least) + " to " + show_size(range.most);
  wrong(*node, key, why);
  return false;
}

bool Section::share(std::string_view key, double& out) {
  const Node* const node = scalar(key);
  if (node == nullptr) return false;
  std::string why;
  const std::optional<double> value = parse_share(node->text, why);
  if (!value) {
    wrong(*node, key, why);
    return false;
  }
  out = *value;
  return true;
}

bool Section::host_port(std::string_view key, HostPort& out) {
  const Node* const node = scalar(key);
  if (node == nullptr) return false;
  std::string why;
  std::optional<HostPort> value = parse_host_port(node->text, why);
  if (!value) {
    wrong(*node, key, why);
    return false;
  }
  out = std::move(*value);
  return true;
}

bool Section::texts(std::string_view key, std::vector<std::string>& out) {
  const Node* const node = find(key);
  if (node == nullptr) return false;
  if (node->kind != Node::Kind::sequence) {
    context_.error(*node, path_of(key), std::string("is ") + kind_name(node->kind) + ", a list is needed");
    return false;
  }
  std::vector<std::string> values;
  for (const Node& item : node->items) {
    if (item.kind != Node::Kind::scalar) {
      context_.error(item, path_of(key),
                     std::string("an item is ") + kind_name(item.kind) + ", a single value is needed");
      return false;
    }
    values.push_back(item.text);
  }
  out = std::move(values);
  return true;
}

bool Section::cidrs(std::string_view key, std::vector<identity::Cidr>& out) {
  std::vector<std::string> ignored;
  if (!texts(key, ignored)) return false;
  std::vector<identity::Cidr> blocks;
  for (const Node& item : find(key)->items) {
    std::string why;
    const std::optional<identity::Cidr> block = parse_cidr(item.text, why);
    if (block) {
      blocks.push_back(*block);
    } else {
      wrong(item, key, why);
    }
  }
  out = std::move(blocks);
  return true;
}

}  // namespace weir::config
