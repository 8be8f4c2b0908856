// SPDX-License-Identifier: Apache-2.0
#include "http/field_filter.hpp"

#include <algorithm>

#include "http/characters.hpp"
#include "weir/http/field_names.hpp"

namespace weir::http {
namespace {

const FieldNames kHopByHop{"te",
                           "upgrade",
                           "trailer",
                           "connection",
                           "keep-alive",
                           "http2-settings",
                           "proxy-connection",
                           "transfer-encoding",
                           "proxy-authenticate",
                           "proxy-authorization"};
// What gives a message its meaning.
const FieldNames kProtected{"host",          "content-length", "content-type", "content-encoding",
                            "content-range", "authorization",  "cookie",       "set-cookie",
                            "cache-control", "date",           "location",     "www-authenticate"};

// Calls `take(option)` for every Connection option that names a field.
template <class Take>
void each_nomination(const Fields& fields, Take take) noexcept {
  fields.each("connection", [&take](const Field& field) {
    const auto names_none = [](std::string_view text) {
      return iequals(text, "keep-alive") || iequals(text, "close");
    };
    std::string_view list = field.value;
    if (names_none(list)) return;
    std::string_view option;
    while (next_member(list, option)) {
      if (!names_none(option)) take(option);
    }
  });
}

}  // namespace

FieldFilter::FieldFilter(const Fields& fields) noexcept {
  each_nomination(fields, [this](std::string_view option) {
    if (nominated_.size() < kMaxNominations && !kProtected.contains(option)) nominated_.push_back(option);
  });
}

bool FieldFilter::ends_here(const Field& field) const noexcept {
  if (kHopByHop.contains(field.key())) return true;
  return std::any_of(nominated_.begin(), nominated_.end(),
                     [&field](const FieldName& one) { return field.is(one); });
}

bool FieldFilter::nominations_exceed_limit(const Fields& fields) noexcept {
  std::size_t octets = 0;
  fields.each("connection", [&octets](const Field& field) { octets += field.value.size() + 1; });
  if (octets <= 2 * kMaxNominations) return false;  // an option takes an octet, and a comma
  std::size_t count = 0;
  each_nomination(fields, [&count](std::string_view) { ++count; });
  return count > kMaxNominations;
}

}  // namespace weir::http
