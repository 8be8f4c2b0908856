// SPDX-License-Identifier: Apache-2.0
#include "weir/http/field_names.hpp"

#include <algorithm>

namespace weir::http {

FieldNames::FieldNames(std::vector<std::string> names) {
  for (std::string& name : names) {
    const std::uint32_t hash = folded_hash(name);
    names_.push_back({std::move(name), hash});
  }
  std::sort(names_.begin(), names_.end(), [](const Name& a, const Name& b) {
    const std::size_t place = place_of(a.hash), other = place_of(b.hash);
    return place != other ? place < other : a.text < b.text;
  });
  const auto same = [](const Name& a, const Name& b) { return a.text == b.text; };
  names_.erase(std::unique(names_.begin(), names_.end(), same), names_.end());
  for (const Name& name : names_) ++first_of_[place_of(name.hash) + 1];
  for (std::size_t n = 0; n < kPlaces; ++n) first_of_[n + 1] += first_of_[n];
}

}  // namespace weir::http
