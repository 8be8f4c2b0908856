// SPDX-License-Identifier: Apache-2.0
// The JSON inside a token: strict, since two readers of one token must never see two things.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

namespace weir::identity {

// One JSON object and nothing after it, in valid UTF-8, at most 8 levels deep, no member name twice at any
// level. nullopt for everything else; never throws but for lack of memory.
std::optional<boost::json::object> parse_strict_object(std::string_view text);

}  // namespace weir::identity
