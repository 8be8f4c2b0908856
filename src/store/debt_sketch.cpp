// SPDX-License-Identifier: Apache-2.0
#include "store/debt_sketch.hpp"

#include <algorithm>
#include <bit>

namespace weir::store {
namespace {

// A cell: 38 bits end, in units of 64 ms; 5 bits exponent and 21 bits mantissa of the permits.
constexpr unsigned kUsedBits = 26, kMantissaBits = 21;
constexpr std::uint64_t kUsedMask = (std::uint64_t{1} << kUsedBits) - 1;
constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << kMantissaBits) - 1;
constexpr std::uint64_t kMostUsed = kMantissaMask << 31;
constexpr std::uint64_t kMostUntil = (std::uint64_t{1} << 38) - 1;
constexpr std::int64_t kTickMs = 64;

std::uint64_t pack_used(std::int64_t used) {
  const std::uint64_t value = std::min(static_cast<std::uint64_t>(used), kMostUsed);
  const auto width = static_cast<unsigned>(std::bit_width(value));
  unsigned exponent = width > kMantissaBits ? width - kMantissaBits : 0;
  std::uint64_t mantissa = (value + (std::uint64_t{1} << exponent) - 1) >> exponent;
  if (mantissa > kMantissaMask) {
    mantissa = (mantissa + 1) >> 1;
    ++exponent;
  }
  return std::uint64_t{exponent} << kMantissaBits | mantissa;
}

std::int64_t unpack_used(std::uint64_t packed) {
  return static_cast<std::int64_t>((packed & kMantissaMask) << (packed >> kMantissaBits));
}

std::uint64_t pack_until(std::int64_t until_ms) {
  const std::int64_t ticks = (std::max<std::int64_t>(until_ms, 0) + kTickMs - 1) / kTickMs;
  return std::min(static_cast<std::uint64_t>(ticks), kMostUntil);
}

std::int64_t until_of(std::uint64_t cell) {
  return static_cast<std::int64_t>(cell >> kUsedBits) * kTickMs;
}

// The packed forms order like the numbers they stand for.
std::uint64_t larger(std::uint64_t cell, std::uint64_t other) {
  const std::uint64_t until = std::max(cell >> kUsedBits, other >> kUsedBits);
  return until << kUsedBits | std::max(cell & kUsedMask, other & kUsedMask);
}

}  // namespace

DebtSketch::DebtSketch(std::size_t keys)
    : bits_(static_cast<unsigned>(std::bit_width(std::bit_ceil(std::max<std::size_t>(keys / 2, 64))) - 1)),
      cells_(kRows << bits_) {}

std::size_t DebtSketch::place(const Hash128& key, std::size_t row) const noexcept {
  constexpr std::array<std::uint64_t, kRows> odd{0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB,
                                                 0xD6E8FEB86659FD93};
  const std::uint64_t mixed = (key.high ^ (key.low * odd[row])) * odd[kRows - 1 - row];
  return (row << bits_) + (mixed >> (64 - bits_));
}

void DebtSketch::add(const Hash128& key, const limit::Debt& debt, std::int64_t now_ms) noexcept {
  if (debt.used <= 0 || debt.until_ms <= now_ms) return;
  const std::uint64_t mine = pack_until(debt.until_ms) << kUsedBits | pack_used(debt.used);
  for (std::size_t row = 0; row < kRows; ++row) {
    std::atomic<std::uint64_t>& cell = cells_[place(key, row)];
    std::uint64_t before = cell.load(std::memory_order_relaxed);
    while (true) {
      const std::uint64_t after = until_of(before) <= now_ms ? mine : larger(before, mine);
      if (after == before || cell.compare_exchange_weak(before, after, std::memory_order_relaxed)) break;
    }
  }
}

limit::Debt DebtSketch::of(const Hash128& key, std::int64_t now_ms) const noexcept {
  limit::Debt least{INT64_MAX, INT64_MAX};
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::uint64_t cell = cells_[place(key, row)].load(std::memory_order_relaxed);
    if (until_of(cell) <= now_ms) return {};
    least.used = std::min(least.used, unpack_used(cell & kUsedMask));
    least.until_ms = std::min(least.until_ms, until_of(cell));
  }
  return least;
}

}  // namespace weir::store
