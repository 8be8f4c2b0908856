// SPDX-License-Identifier: Apache-2.0
// application/x-www-form-urlencoded, as browsers and curl write queries.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weir::admin {

// Hands each decoded parameter to `apply`, which returns "" or what is wrong with it. Stops at the first that
// is wrong, and returns what; "" if all are well.
std::string each_parameter(std::string_view query,
                           const std::function<std::string(std::string_view name, std::string value)>& apply);

}  // namespace weir::admin
