// SPDX-License-Identifier: Apache-2.0
#include "weir/http/field_names.hpp"

#include <algorithm>

namespace weir::http {

FieldNames::FieldNames(std::vector<std::string> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end(), [](const std::string& a, const std::string& b) {
    const std::size_t place = place_of(folded_hash(a)), other = place_of(folded_hash(b));
    return place != other ? place < other : a < b;
  });
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
  for (const std::string& name : names_) ++first_of_[place_of(folded_hash(name)) + 1];
  for (std::size_t n = 0; n < kPlaces; ++n) first_of_[n + 1] += first_of_[n];
}

bool FieldNames::contains(const FieldName& name) const noexcept {
  const std::size_t place = place_of(name.hash());
  const auto first = names_.begin() + first_of_[place];
  const auto last = names_.begin() + first_of_[place + 1];
  return std::any_of(first, last, [&name](const std::string& one) { return iequals(one, name.text()); });
}

}  // namespace weir::http
