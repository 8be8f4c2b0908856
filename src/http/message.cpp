// SPDX-License-Identifier: Apache-2.0
#include "weir/http/message.hpp"

#include "http/characters.hpp"

namespace weir::http {
namespace {

const Field* find_in(const std::vector<Field>& fields, std::string_view name) noexcept {
  for (const Field& field : fields) {
    if (iequals(field.name, name)) return &field;
  }
  return nullptr;
}

}  // namespace

bool iequals(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t n = 0; n < a.size(); ++n) {
    if (lower(a[n]) != lower(b[n])) return false;
  }
  return true;
}

const Field* RequestHead::find(std::string_view name) const noexcept {
  return find_in(fields, name);
}
const Field* ResponseHead::find(std::string_view name) const noexcept {
  return find_in(fields, name);
}

}  // namespace weir::http
