// SPDX-License-Identifier: Apache-2.0
// What was found in a configuration, for a terminal.
#pragma once

#include <vector>

#include "config/load.hpp"

namespace weir::app {

// By severity, then place.
std::vector<config::Finding> by_severity(const config::LoadResult& loaded);
// To the standard output, each with its line and a caret below; lines that may hold a secret are not shown.
void print_findings(const std::vector<config::Finding>& findings);
// "error", "warning", "note".
std::string_view name_of(config::Severity severity);
std::size_t count_of(const std::vector<config::Finding>& findings, config::Severity severity);

}  // namespace weir::app
