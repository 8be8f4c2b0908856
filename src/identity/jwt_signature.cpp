// SPDX-License-Identifier: Apache-2.0
#include "identity/jwt_signature.hpp"

#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>

#include <array>
#include <memory>

namespace weir::identity {
namespace {

constexpr std::size_t kSha256 = 32;
constexpr std::size_t kScalar = 32;

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

const EVP_MD* sha256() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return fetched;
}

bool verify(EVP_PKEY* key, bool rsa, std::string_view text, const unsigned char* signature,
            std::size_t size) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_PKEY_CTX* settings = nullptr;
  const bool ready = context && EVP_DigestVerifyInit(context.get(), &settings, sha256(), nullptr, key) == 1 &&
                     (!rsa || EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PADDING) == 1);
  const bool good = ready && EVP_DigestVerify(context.get(), signature, size, octets(text), text.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace

bool verify_hs256(std::string_view secret, std::string_view text, std::string_view signature) {
  if (signature.size() != kSha256) return false;
  std::array<unsigned char, kSha256> expected{};
  unsigned size = 0;
  const bool made = HMAC(sha256(), secret.data(), static_cast<int>(secret.size()), octets(text), text.size(),
                         expected.data(), &size) != nullptr;
  if (!made || size != kSha256) {
    ERR_clear_error();
    return false;
  }
  return CRYPTO_memcmp(expected.data(), signature.data(), kSha256) == 0;
}

bool verify_rs256(EVP_PKEY* key, std::string_view text, std::string_view signature) {
  if (signature.size() != static_cast<std::size_t>(EVP_PKEY_get_size(key))) return false;
  return verify(key, true, text, octets(signature), signature.size());
}

bool verify_es256(EVP_PKEY* key, std::string_view text, std::string_view signature) {
  if (signature.size() != 2 * kScalar) return false;
  const std::unique_ptr<ECDSA_SIG, void (*)(ECDSA_SIG*)> pair(ECDSA_SIG_new(), ECDSA_SIG_free);
  BIGNUM* const r = BN_bin2bn(octets(signature), kScalar, nullptr);
  BIGNUM* const s = BN_bin2bn(octets(signature) + kScalar, kScalar, nullptr);
  if (!pair || ECDSA_SIG_set0(pair.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return false;
  }
  // Two integers of at most 33 octets with their tags, within a sequence.
  std::array<unsigned char, 80> der{};
  unsigned char* end = der.data();
  if (i2d_ECDSA_SIG(pair.get(), nullptr) > static_cast<int>(der.size())) return false;
  const int size = i2d_ECDSA_SIG(pair.get(), &end);
  return size > 0 && verify(key, false, text, der.data(), static_cast<std::size_t>(size));
}

}  // namespace weir::identity
