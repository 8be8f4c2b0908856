// SPDX-License-Identifier: Apache-2.0
// Optional white space of HTTP (RFC 9110 5.6.3).
#pragma once

#include <string_view>

namespace weir::identity {

// Without spaces and tabs at both ends.
constexpr std::string_view trim(std::string_view text) noexcept {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace weir::identity
