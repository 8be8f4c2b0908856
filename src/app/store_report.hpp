// SPDX-License-Identifier: Apache-2.0
// What is wrong with the shared stores in the operator's words.
#pragma once

#include <string>

#include "app/gauges.hpp"

namespace weir::app {

// Why a gateway that starts shall get no traffic although its stores answer: they let it count nothing.
// Empty: nothing is known of that. Any thread.
std::string store_fault(const Workers& workers);

}  // namespace weir::app
