// SPDX-License-Identifier: Apache-2.0
#include "http/field_filter.hpp"

#include <algorithm>

#include "http/characters.hpp"

namespace weir::http {
namespace {

template <std::size_t kSize>
bool is_one_of(std::string_view name, const std::string_view (&names)[kSize]) noexcept {
  return std::any_of(std::begin(names), std::end(names),
                     [name](std::string_view one) { return iequals(name, one); });
}

bool is_hop_by_hop(std::string_view name) noexcept {
  switch (name.size()) {
    case 2:
      return iequals(name, "te");
    case 7:
      return iequals(name, "upgrade") || iequals(name, "trailer");
    case 10:
      return iequals(name, "connection") || iequals(name, "keep-alive");
    case 14:
      return iequals(name, "http2-settings");
    case 16:
      return iequals(name, "proxy-connection");
    case 17:
      return iequals(name, "transfer-encoding");
    case 18:
      return iequals(name, "proxy-authenticate");
    case 19:
      return iequals(name, "proxy-authorization");
    default:
      return false;
  }
}

bool is_protected(std::string_view name) noexcept {
  constexpr std::string_view kProtected[] = {
      "host",          "content-length", "content-type", "content-encoding",
      "content-range", "authorization",  "cookie",       "set-cookie",
      "cache-control", "date",           "location",     "www-authenticate"};
  return is_one_of(name, kProtected);
}

// Calls `take(option)` for every Connection option that names a field.
template <class Take>
void each_nomination(std::span<const Field> fields, Take take) noexcept {
  for (const Field& field : fields) {
    if (field.name.size() != 10 || !iequals(field.name, "connection")) continue;
    std::string_view list = field.value;
    std::string_view option;
    while (next_member(list, option)) {
      if (!iequals(option, "keep-alive") && !iequals(option, "close")) take(option);
    }
  }
}

}  // namespace

FieldFilter::FieldFilter(std::span<const Field> fields) noexcept {
  each_nomination(fields, [this](std::string_view option) {
    if (nominated_.size() < kMaxNominations && !is_protected(option)) nominated_.push_back(option);
  });
}

bool FieldFilter::ends_here(std::string_view name) const noexcept {
  if (is_hop_by_hop(name)) return true;
  return std::any_of(nominated_.begin(), nominated_.end(),
                     [name](std::string_view one) { return iequals(name, one); });
}

bool FieldFilter::nominations_exceed_limit(std::span<const Field> fields) noexcept {
  std::size_t count = 0;
  each_nomination(fields, [&count](std::string_view) { ++count; });
  return count > kMaxNominations;
}

}  // namespace weir::http
