// SPDX-License-Identifier: Apache-2.0
// The three faces of a rehearsal: text for a terminal, JSON for scripts, and one HTML page that needs nothing
// beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/simulate/comparison.hpp"
#include "app/simulate/log_reader.hpp"

namespace weir::app {

struct Report {
  std::string quotas_in_force;  // file names, as the reader knows them
  std::string quotas_renewed;
  std::vector<std::string> logs;
  std::vector<std::string> notes;  // what the figures do not show
  const LogCounts& counts;
  const Comparison& comparison;
};

// Rows of each table.
inline constexpr std::size_t kTextRows = 15, kPageRows = 50, kJsonRows = 1000;

std::string to_text(const Report& report);
std::string to_json(const Report& report);
std::string to_html(const Report& report);

// Shared by them.
std::string time_text(std::int64_t wall_ms);                   // "2026-11-30 12:34:56Z"
std::string count_text(std::uint64_t count);                   // "1,234,567"
std::string share_text(std::uint64_t part, std::uint64_t of);  // "1.2 %", "<0.1 %"
std::string length_text(std::int64_t ms);                      // "3 h 20 min"
// The layer that refused most of it, "" if none did.
std::string_view main_layer(const Tally& tally, const Comparison& comparison);

}  // namespace weir::app
