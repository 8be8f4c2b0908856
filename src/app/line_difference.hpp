// SPDX-License-Identifier: Apache-2.0
// What differs between two texts, by lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::app {

// `-` and `+` lines in order, each with the number it has in its own text ("-12 old", "+12 new"); empty if
// the texts are equal. The shortest such list, unless what differs is very long: then all of the old, all of
// the new.
std::vector<std::string> line_difference(std::string_view before, std::string_view after);

}  // namespace weir::app
