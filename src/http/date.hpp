// SPDX-License-Identifier: Apache-2.0
// The Date field (RFC 9110 6.6.1), made once per second and thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::http {

// "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n" for a wall-clock time. The view lives until the thread's next
// call.
std::string_view date_line(std::int64_t wall_ms) noexcept;

}  // namespace weir::http
