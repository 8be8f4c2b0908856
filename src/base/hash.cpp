// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#include <openssl/evp.h>

#include <array>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir {

std::uint64_t stable_hash(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 stable_hash128(std::string_view bytes, std::uint64_t seed) noexcept {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.high64, hash.low64};
}

std::string digest_hex(std::string_view bytes) {
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, sha256, nullptr);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex(32, '0');
  for (std::size_t n = 0; n < 16; ++n) {
    hex[2 * n] = digits[digest[n] >> 4];
    hex[2 * n + 1] = digits[digest[n] & 15];
  }
  return hex;
}

std::uint64_t process_seed() noexcept {
  static const std::uint64_t seed = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }();
  return seed;
}

}  // namespace weir
