// SPDX-License-Identifier: Apache-2.0
// Who asks, and for what: the values of the configured dimensions for one request.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::identity {

// A dimension is an index into Identity; the configuration's dimension table maps names to indices. The
// first ones are built in and always at these places; declared dimensions (role, tier, any header) follow.
using Dimension = std::uint8_t;
namespace dimension {
inline constexpr Dimension node = 0, caller = 1, user = 2, api = 3, ip = 4, api_class = 5, upstream = 6,
                           tier = 7, region = 8, role = 9, kFirstDeclared = 10;
}  // namespace dimension
inline constexpr std::size_t kMaxDimensions = 24;

enum class Presence : std::uint8_t {
  absent,  // the request has no such value and no layer of its chain needs one
  present,
  anonymous,  // missing, and the configuration says `missing: anonymous`: one shared key of its own
};

struct Value {
  std::string_view text;  // valid while the request lives; empty unless present
  Presence presence = Presence::absent;
};

// Built once per request by identity::Extractor; views point into the request's own memory.
struct Identity {
  std::array<Value, kMaxDimensions> value{};
  bool exempt = false;  // goes through the exempt lane

  const Value& operator[](Dimension d) const noexcept { return value[d]; }
  Value& operator[](Dimension d) noexcept { return value[d]; }
  std::string_view text(Dimension d) const noexcept { return value[d].text; }
};

}  // namespace weir::identity
