// SPDX-License-Identifier: Apache-2.0
#include "identity/api_keys.hpp"

#include <openssl/evp.h>

#include <cstring>
#include <memory>
#include <stdexcept>

namespace weir::identity {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::size_t ApiKeyTable::DigestHash::operator()(const Digest& digest) const noexcept {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

ApiKeyTable::Digest ApiKeyTable::digest_of(std::string_view bytes) {
  // One context per thread: EVP_Digest would make and drop one per call.
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                                EVP_MD_CTX_free);
  Digest digest{};
  EVP_DigestInit_ex2(context.get(), sha256, nullptr);
  EVP_DigestUpdate(context.get(), bytes.data(), bytes.size());
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  return digest;
}

ApiKeyTable::ApiKeyTable(std::span<const ApiKey> keys) : keys_(keys.begin(), keys.end()) {
  for (std::size_t n = 0; n < keys_.size(); ++n) {
    const std::string& hex = keys_[n].sha256_hex;
    Digest digest{};
    bool valid = hex.size() == 2 * digest.size();
    for (std::size_t i = 0; valid && i < digest.size(); ++i) {
      const int high = hex_digit(hex[2 * i]);
      const int low = hex_digit(hex[2 * i + 1]);
      valid = high >= 0 && low >= 0;
      if (valid) digest[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    if (!valid) throw std::invalid_argument("an API key's hash must be 64 hex digits (SHA-256)");
    by_digest_.emplace(digest, n);
  }
}

const ApiKey* ApiKeyTable::find(std::string_view presented) const {
  if (keys_.empty()) return nullptr;
  const auto found = by_digest_.find(digest_of(presented));
  return found == by_digest_.end() ? nullptr : &keys_[found->second];
}

std::string_view attribute(const ApiKey& key, std::string_view dimension) noexcept {
  for (const auto& [name, value] : key.attributes) {
    if (name == dimension) return value;
  }
  return {};
}

}  // namespace weir::identity
