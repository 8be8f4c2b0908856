// SPDX-License-Identifier: Apache-2.0
#include "admin/form_query.hpp"

#include <algorithm>
#include <optional>

#include "identity/percent.hpp"

namespace weir::admin {
namespace {

// nullopt for a malformed escape.
std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] != '%') {
      out += text[n] == '+' ? ' ' : text[n];
      continue;
    }
    const int octet = identity::decode_escape(text.substr(n));
    if (octet < 0) return std::nullopt;
    out += static_cast<char>(octet);
    n += 2;
  }
  return out;
}

}  // namespace

std::string each_parameter(std::string_view query,
                           const std::function<std::string(std::string_view, std::string)>& apply) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    const auto name = decode(pair.substr(0, equals));
    auto value = decode(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return "malformed percent escape";
    if (std::string why = apply(*name, std::move(*value)); !why.empty()) return why;
  }
  return "";
}

}  // namespace weir::admin
