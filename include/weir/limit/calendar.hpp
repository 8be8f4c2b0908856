// SPDX-License-Identifier: Apache-2.0
// Calendar windows: days and months of a stated time zone, daylight saving and all.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/limit/algorithm.hpp"
#include "weir/limit/policy.hpp"

namespace weir::limit {

// True if the host's time zone database knows this IANA name. For the configuration's checks.
bool known_time_zone(std::string_view name) noexcept;

// The window that holds wall_ms (at[1] <= wall_ms < at[2]) and its two neighbours. A day begins at local
// midnight, or where the zone skips midnight at the first moment after it. An unknown zone counts as UTC
// (the configuration refuses it beforehand). The result for (unit, zone) is kept per thread until its window
// is over, so that the time zone database is asked about once a day.
CalendarBounds calendar_bounds(CalendarUnit unit, std::string_view zone, std::int64_t wall_ms) noexcept;

}  // namespace weir::limit
