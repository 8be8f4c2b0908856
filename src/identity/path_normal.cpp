// SPDX-License-Identifier: Apache-2.0
#include "identity/path_normal.hpp"

#include <algorithm>
#include <array>

#include "identity/percent.hpp"

namespace weir::identity {
namespace {

// Characters that a segment may carry as they are (pchar of RFC 3986 without ';', which starts parameters).
constexpr std::array<bool, 256> kSegmentOctet = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("!$&'()*+,=:@")) table[static_cast<unsigned char>(c)] = true;
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = table[c] || is_unreserved(static_cast<char>(c));
  return table;
}();

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

// True if the slow path would return `raw` unchanged.
bool already_normal(std::string_view raw, const PathOptions& options) {
  char before = '\0';
  for (const char c : raw) {
    const bool after_slash = before == '/';
    if (c == '/' ? after_slash : !kSegmentOctet[static_cast<unsigned char>(c)]) return false;
    if (c == '.' && after_slash) return false;
    if (options.fold_case && is_upper(c)) return false;
    before = c;
  }
  return !(options.fold_trailing_slash && raw.size() > 1 && before == '/');
}

class Normaliser {
 public:
  Normaliser(const PathOptions& options, std::string& out) : options_(options), out_(out) {}

  PathFault run(std::string_view raw) {
    out_.clear();
    while (!raw.empty()) {
      raw.remove_prefix(1);  // the slash
      const std::size_t size = std::min(raw.find('/'), raw.size());
      last_ = size == raw.size();
      if (const PathFault fault = segment(raw.substr(0, size)); fault != PathFault::none) return fault;
      raw.remove_prefix(size);
    }
    if (options_.fold_trailing_slash && out_.size() > 1 && out_.back() == '/') out_.pop_back();
    return PathFault::none;
  }

 private:
  // Appends "/segment" in normal form.
  PathFault segment(std::string_view raw) {
    const std::size_t start = out_.size();
    out_ += '/';
    bool parameters = false;
    for (std::size_t n = 0; n < raw.size(); ++n) {
      const std::size_t kept = out_.size();
      if (raw[n] == ';') parameters = true;
      if (const PathFault fault = octet(raw, n); fault != PathFault::none) return fault;
      if (parameters) out_.resize(kept);
    }
    const std::string_view text = std::string_view(out_).substr(start + 1);
    const bool parent = text == "..";
    if (!text.empty() && text != "." && !parent) return PathFault::none;
    if (parameters && !text.empty()) return PathFault::dots_with_parameters;
    out_.resize(start);
    if (parent) {
      if (start == 0) return PathFault::above_root;
      out_.resize(out_.rfind('/'));
    }
    if (last_) out_ += '/';
    return PathFault::none;
  }

  // Appends the octet at `n`, moving `n` to its last character.
  PathFault octet(std::string_view raw, std::size_t& n) {
    auto value = static_cast<unsigned char>(raw[n]);
    if (value == '#') return PathFault::fragment;
    if (value == '%') {
      const int decoded = decode_escape(raw.substr(n));
      if (decoded < 0) return PathFault::malformed_escape;
      n += 2;
      value = static_cast<unsigned char>(decoded);
      if (value == '/' && !options_.keep_encoded_slash) return PathFault::encoded_slash;
    } else if (kSegmentOctet[value] || value == ';') {
      plain(raw[n]);
      return PathFault::none;
    } else if (value == ' ') {
      return PathFault::control_character;
    }
    if (value == '\\') return PathFault::backslash;
    if (value < 0x20 || value == 0x7f) return PathFault::control_character;
    if (is_unreserved(static_cast<char>(value))) {
      plain(static_cast<char>(value));
    } else {
      append_escape(out_, value);
    }
    return PathFault::none;
  }

  void plain(char c) { out_ += options_.fold_case && is_upper(c) ? static_cast<char>(c | 0x20) : c; }

  const PathOptions& options_;
  std::string& out_;
  bool last_ = false;
};

}  // namespace

PathFault normalise_path(std::string_view raw, const PathOptions& options, std::string& buffer,
                         std::string_view& normal) {
  normal = raw.empty() ? std::string_view("/") : raw;
  if (raw.empty() || raw == "*") return PathFault::none;
  if (raw.front() != '/') return PathFault::not_absolute;
  if (already_normal(raw, options)) return PathFault::none;
  const PathFault fault = Normaliser(options, buffer).run(raw);
  normal = buffer;
  return fault;
}

std::string_view reason_of(PathFault fault) noexcept {
  switch (fault) {
    case PathFault::none:
      return "";
    case PathFault::not_absolute:
      return "the path does not start with a slash";
    case PathFault::malformed_escape:
      return "the path has a malformed percent escape";
    case PathFault::encoded_slash:
      return "the path has an encoded slash";
    case PathFault::backslash:
      return "the path has a backslash";
    case PathFault::control_character:
      return "the path has a control character or a space";
    case PathFault::fragment:
      return "the path has a fragment";
    case PathFault::above_root:
      return "the path leads above the root";
    case PathFault::dots_with_parameters:
      break;
  }
  return "the path has a dot segment with parameters";
}

}  // namespace weir::identity
