// SPDX-License-Identifier: Apache-2.0
// The one normal form of a path (spec ID-4): routing, limiting and logging all use it, so that no spelling of
// a path escapes its limit.
//
//   escapes      %41 -> A (unreserved characters, RFC 3986 6.2.2.2), decoded once: %2541 stays %2541;
//                %c3 -> %C3 for every other octet; octets that may not stand in a path are escaped
//   parameters   /login;v=1/x -> /login/x
//   segments     /a/./b/../c -> /a/c; //a///b -> /a/b; a slash at the end stays
//   fold         paths.fold: [case] lower-cases letters, [trailing_slash] drops a slash at the end
//
// What two servers could read in two ways is a fault, answered with 400: %2F (unless encoded_slash: keep,
// which keeps it as data), \ and %5C, control characters raw or encoded, %zz, a raw #, a path above the root,
// and a dot segment with parameters (/..;x/ is a parent for some servers and a name for others).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/identity/options.hpp"

namespace weir::identity {

enum class PathFault : std::uint8_t {
  none,
  not_absolute,
  malformed_escape,
  encoded_slash,
  backslash,
  control_character,
  fragment,
  above_root,
  dots_with_parameters,
};

// Sets `normal` to the normal form: a view of `raw` where that is already normal (the common case, no copy),
// else of `buffer`. "*" (OPTIONS *) and "" (absolute form without a path, "/") are accepted. Linear in
// raw.size().
PathFault normalise_path(std::string_view raw, const PathOptions& options, std::string& buffer,
                         std::string_view& normal);

// A short text for the client; names no client data.
std::string_view reason_of(PathFault fault) noexcept;

}  // namespace weir::identity
