// SPDX-License-Identifier: Apache-2.0
#include "weir/http/message.hpp"

namespace weir::http {
namespace {

const Field* find_in(const std::vector<Field>& fields, const FieldName& name) noexcept {
  for (const Field& field : fields) {
    if (field.is(name)) return &field;
  }
  return nullptr;
}

}  // namespace

const Field* RequestHead::find(const FieldName& name) const noexcept {
  return find_in(fields, name);
}
const Field* ResponseHead::find(const FieldName& name) const noexcept {
  return find_in(fields, name);
}

}  // namespace weir::http
