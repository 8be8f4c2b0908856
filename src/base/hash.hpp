// SPDX-License-Identifier: Apache-2.0
// Stable hashes. What leaves the process (window offsets, store keys, key percentages) uses seed 0, so that
// every instance and every restart agrees; tables that attackers could aim at use a seed drawn per process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Hash128&) const = default;
};

// XXH3, 64 and 128 bits. Not cryptographic.
std::uint64_t stable_hash(std::string_view bytes, std::uint64_t seed = 0) noexcept;
Hash128 stable_hash128(std::string_view bytes, std::uint64_t seed = 0) noexcept;

// The first 128 bits of SHA-256 as 32 lower-case hex digits: for identities too long to be a key as they are,
// where a caller could search for a collision with another's key.
std::string digest_hex(std::string_view bytes);

// A random 64-bit value, drawn once when the process starts.
std::uint64_t process_seed() noexcept;

}  // namespace weir
