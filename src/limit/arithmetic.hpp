// SPDX-License-Identifier: Apache-2.0
// Whole-number division with a stated rounding. C++ rounds toward zero, which is wrong for levels below zero
// and for times before a window's origin. The divisor is positive everywhere.
#pragma once

#include <cstdint>

namespace weir::limit {

constexpr std::int64_t floor_div(std::int64_t value, std::int64_t by) noexcept {
  const std::int64_t quotient = value / by;
  return value % by < 0 ? quotient - 1 : quotient;
}

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) noexcept {
  const std::int64_t quotient = value / by;
  return value % by > 0 ? quotient + 1 : quotient;
}

}  // namespace weir::limit
