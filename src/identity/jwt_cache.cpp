// SPDX-License-Identifier: Apache-2.0
#include "identity/jwt_cache.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

namespace weir::identity {
namespace {

// Claims larger than this are verified each time: the cache's memory has a bound, about 20 MB.
constexpr std::size_t kMaxKept = 2048;

}  // namespace

std::size_t JwtCache::DigestHash::operator()(const Digest& digest) const noexcept {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

JwtCache::JwtCache(std::size_t capacity)
    : half_(std::max<std::size_t>(capacity / kShards / 2, 1)),
      shards_(std::make_unique<std::array<Shard, kShards>>()) {}

JwtOutcome JwtCache::verify(const JwtVerifier& verifier, std::string_view token, std::int64_t wall_ms) const {
  if (token.size() > kMaxToken) return {AuthFault::malformed, nullptr};
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                                EVP_MD_CTX_free);
  Digest digest{};
  const bool hashed = EVP_DigestInit_ex2(context.get(), sha256, nullptr) == 1 &&
                      EVP_DigestUpdate(context.get(), token.data(), token.size()) == 1 &&
                      EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
  if (!hashed) return verifier.verify(token, wall_ms);
  Shard& shard = (*shards_)[digest.back() % kShards];
  if (auto claims = find(shard, digest)) {
    const AuthFault fault = claims->at(wall_ms);
    return {fault, std::move(claims)};
  }
  JwtOutcome outcome = verifier.verify(token, wall_ms);
  const bool worth = outcome.fault == AuthFault::none && outcome.claims->size() <= kMaxKept;
  if (worth) keep(shard, digest, outcome.claims);
  return outcome;
}

std::shared_ptr<const JwtClaims> JwtCache::find(Shard& shard, const Digest& digest) const {
  const std::scoped_lock lock(shard.mutex);
  if (const auto young = shard.young.find(digest); young != shard.young.end()) return young->second;
  const auto old = shard.old.find(digest);
  if (old == shard.old.end()) return nullptr;
  auto claims = old->second;
  if (shard.young.size() < half_) shard.young.emplace(digest, claims);
  return claims;
}

void JwtCache::keep(Shard& shard, const Digest& digest, std::shared_ptr<const JwtClaims> claims) const {
  Entries dropped;  // freed after the lock
  const std::scoped_lock lock(shard.mutex);
  if (shard.young.size() >= half_) {
    dropped = std::exchange(shard.old, std::exchange(shard.young, Entries()));
  }
  shard.young.emplace(digest, std::move(claims));
}

std::size_t JwtCache::size() const {
  std::size_t size = 0;
  for (Shard& shard : *shards_) {
    const std::scoped_lock lock(shard.mutex);
    size += shard.young.size() + shard.old.size();
  }
  return size;
}

}  // namespace weir::identity
