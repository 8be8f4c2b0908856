// SPDX-License-Identifier: Apache-2.0
#include "weir/http/field_names.hpp"

#include <algorithm>

#include "weir/http/message.hpp"

namespace weir::http {

FieldNames::FieldNames(std::vector<std::string> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
  for (const std::string& name : names_) ++first_of_[place_of(name) + 1];
  for (std::size_t n = 0; n < kLengths; ++n) first_of_[n + 1] += first_of_[n];
}

std::size_t FieldNames::place_of(std::string_view name) noexcept {
  return std::min(name.size(), kLengths - 1);
}

bool FieldNames::contains(std::string_view name) const noexcept {
  const std::size_t place = place_of(name);
  const auto first = names_.begin() + first_of_[place];
  const auto last = names_.begin() + first_of_[place + 1];
  return std::any_of(first, last, [name](const std::string& one) { return iequals(one, name); });
}

}  // namespace weir::http
