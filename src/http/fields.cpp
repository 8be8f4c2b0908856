// SPDX-License-Identifier: Apache-2.0
#include "weir/http/fields.hpp"

#include <algorithm>

namespace weir::http {

const Field* Fields::look_for(const FieldName& name) const noexcept {
  const auto found = std::find_if(begin(), end(), [&name](const Field& field) { return field.is(name); });
  return found == end() ? nullptr : &*found;
}

}  // namespace weir::http
