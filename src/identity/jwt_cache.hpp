// SPDX-License-Identifier: Apache-2.0
// Tokens that were verified lately, so that a busy caller's token costs one hash per request instead of one
// signature. Belongs to one configuration: a reload starts with an empty cache, so a key that left the key
// set vouches for nothing any more.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "identity/jwt.hpp"

namespace weir::identity {

// Thread-safe. Entries are found by SHA-256 of the whole token. At most `capacity` of them; of each shard's
// two halves the older one is dropped when the younger is full, so what is used again stays.
class JwtCache {
 public:
  explicit JwtCache(std::size_t capacity = 10'000);

  // As verifier.verify(), with the time judged anew on each call. Tokens that fail are not remembered: an
  // attacker must not push out those of others.
  JwtOutcome verify(const JwtVerifier& verifier, std::string_view token, std::int64_t wall_ms) const;

  std::size_t size() const;

 private:
  using Digest = std::array<std::uint8_t, 32>;
  struct DigestHash {
    using is_avalanching = void;
    std::size_t operator()(const Digest& digest) const noexcept;
  };
  using Entries = boost::unordered_flat_map<Digest, std::shared_ptr<const JwtClaims>, DigestHash>;
  struct alignas(64) Shard {
    std::mutex mutex;
    Entries young;
    Entries old;
  };
  static constexpr std::size_t kShards = 16;

  std::shared_ptr<const JwtClaims> find(Shard& shard, const Digest& digest) const;
  void keep(Shard& shard, const Digest& digest, std::shared_ptr<const JwtClaims> claims) const;

  std::size_t half_;  // entries in one half of a shard
  std::unique_ptr<std::array<Shard, kShards>> shards_;
};

}  // namespace weir::identity
