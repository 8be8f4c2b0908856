// SPDX-License-Identifier: Apache-2.0
// Looks up API keys by their SHA-256. Keys themselves are never stored, compared or logged.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/identity/options.hpp"

namespace weir::identity {

// Immutable. The time of a look-up depends on the digest of what was presented, never on how much of a key
// was guessed right.
class ApiKeyTable {
 public:
  ApiKeyTable() = default;
  // Throws std::invalid_argument for a sha256_hex that is not 64 hex digits (the configuration checks first).
  explicit ApiKeyTable(std::span<const ApiKey> keys);

  // The entry of the presented key, or nullptr.
  const ApiKey* find(std::string_view presented) const;
  bool empty() const noexcept { return keys_.empty(); }

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct DigestHash {
    using is_avalanching = void;  // SHA-256 is as mixed as it gets
    std::size_t operator()(const Digest& digest) const noexcept;
  };
  static Digest digest_of(std::string_view bytes);

  std::vector<ApiKey> keys_;
  boost::unordered_flat_map<Digest, std::size_t, DigestHash> by_digest_;
};

// The value that a key entry gives a dimension, "" if none.
std::string_view attribute(const ApiKey& key, std::string_view dimension) noexcept;

}  // namespace weir::identity
