// SPDX-License-Identifier: Apache-2.0
#include "admin/probe_query.hpp"

#include <algorithm>

#include "admin/form_query.hpp"
#include "identity/addresses.hpp"
#include "identity/trim.hpp"

namespace weir::admin {
namespace {

constexpr std::size_t kMaxHeaders = 100;

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  const auto allowed = [kMarks](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           kMarks.find(c) != kMarks.npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Applies one parameter; "" or what is wrong with it.
std::string apply(std::string_view name, std::string value, pipeline::ProbeRequest& probe) {
  if (has_control(value)) return "'" + std::string(name) + "' has a control character";
  if (name == "method") {
    if (!is_token(value)) return "'method' is no method";
    probe.method = std::move(value);
  } else if (name == "path") {
    if (!value.starts_with('/')) return "'path' must start with a slash";
    probe.target = std::move(value);
  } else if (name == "from") {
    if (!identity::parse_address(value)) return "'from' is no address";
    probe.peer = std::move(value);
  } else if (name == "header") {
    const auto colon = value.find(':');
    if (colon == value.npos || !is_token(std::string_view(value).substr(0, colon))) {
      return "'header' must be 'Name: value'";
    }
    if (probe.headers.size() == kMaxHeaders) return "too many headers";
    probe.headers.emplace_back(value.substr(0, colon),
                               identity::trim(std::string_view(value).substr(colon + 1)));
  } else {
    return "unknown parameter; allowed are method, path, header and from";
  }
  return "";
}

}  // namespace

std::optional<pipeline::ProbeRequest> parse_probe(std::string_view query, std::string& why) {
  pipeline::ProbeRequest probe;
  why = each_parameter(query, [&probe](std::string_view name, std::string value) {
    return apply(name, std::move(value), probe);
  });
  if (!why.empty()) return std::nullopt;
  return probe;
}

}  // namespace weir::admin
