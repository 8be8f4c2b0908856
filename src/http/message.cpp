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

// Eight octets at a time; a text's last ones overlap those before them.
bool folded_equal(const char* a, const char* b, std::size_t size) noexcept {
  if (size < 8) {
    for (std::size_t n = 0; n < size; ++n) {
      if (lower(a[n]) != lower(b[n])) return false;
    }
    return true;
  }
  for (std::size_t n = 0; n + 8 < size; n += 8) {
    if (lower(eight_at(a + n)) != lower(eight_at(b + n))) return false;
  }
  return lower(eight_at(a + size - 8)) == lower(eight_at(b + size - 8));
}

const Field* RequestHead::find(std::string_view name) const noexcept {
  return find_in(fields, name);
}
const Field* ResponseHead::find(std::string_view name) const noexcept {
  return find_in(fields, name);
}

}  // namespace weir::http
