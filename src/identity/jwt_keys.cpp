// SPDX-License-Identifier: Apache-2.0
#include "identity/jwt_keys.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <array>
#include <optional>

#include "identity/base64url.hpp"
#include "identity/jwt_signature.hpp"

namespace weir::identity {
namespace {

constexpr std::size_t kLeastSecret = 32;
constexpr int kLeastRsaBits = 2048;
constexpr int kMostRsaBits = 8192;
constexpr std::size_t kCoordinate = 32;

template <class T, void (*Free)(T*)>
struct Freer {
  void operator()(T* object) const noexcept { Free(object); }
};
template <class T, void (*Free)(T*)>
using Owned = std::unique_ptr<T, Freer<T, Free>>;
using Number = Owned<BIGNUM, BN_free>;
using Builder = Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>;
using Params = Owned<OSSL_PARAM, OSSL_PARAM_free>;
using Context = Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;

std::shared_ptr<EVP_PKEY> public_key(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const Context making(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  const bool made = params && making && EVP_PKEY_fromdata_init(making.get()) == 1 &&
                    EVP_PKEY_fromdata(making.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  std::shared_ptr<EVP_PKEY> owned(key, EVP_PKEY_free);
  if (!made) return nullptr;
  const Context checking(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  if (!checking || EVP_PKEY_public_check(checking.get()) != 1) return nullptr;
  return owned;
}

Number number_of(const std::string& octets) {
  return Number(BN_bin2bn(reinterpret_cast<const unsigned char*>(octets.data()),
                          static_cast<int>(octets.size()), nullptr));
}

std::shared_ptr<EVP_PKEY> rsa_key(const BIGNUM* n, const BIGNUM* e) {
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e) != 1) {
    return nullptr;
  }
  return public_key("RSA", builder.get());
}

std::shared_ptr<EVP_PKEY> p256_key(const std::string& x, const std::string& y) {
  const std::string point = '\x04' + x + y;  // uncompressed
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) !=
          1) {
    return nullptr;
  }
  return public_key("EC", builder.get());
}

std::optional<JwtAlgorithm> algorithm_of(const WrittenKey& written) {
  if (written.kty == "oct") return JwtAlgorithm::hs256;
  if (written.kty == "RSA") return JwtAlgorithm::rs256;
  if (written.kty == "EC" && written.crv == "P-256") return JwtAlgorithm::es256;
  return std::nullopt;
}

// Decodes a member that has to be there.
bool octets(const std::string& text, const char* member, std::string& out, JwtKeys::Fault& fault) {
  if (!text.empty() && decode_base64url(text, out)) return true;
  fault = {member, text.empty() ? "is missing" : "is not base64url without padding"};
  return false;
}

std::shared_ptr<EVP_PKEY> read_rsa(const WrittenKey& written, JwtKeys::Fault& fault) {
  std::string n_octets, e_octets;
  if (!octets(written.n, "n", n_octets, fault) || !octets(written.e, "e", e_octets, fault)) return nullptr;
  const Number n = number_of(n_octets);
  const Number e = number_of(e_octets);
  const int bits = BN_num_bits(n.get());
  if (bits < kLeastRsaBits || bits > kMostRsaBits) {
    fault = {"n", "has " + std::to_string(bits) + " bits; from 2048 to 8192 are allowed"};
    return nullptr;
  }
  if (BN_is_odd(e.get()) != 1 || BN_is_one(e.get()) == 1 || BN_num_bits(e.get()) > 64) {
    fault = {"e", "is no exponent that an RSA key has"};
    return nullptr;
  }
  std::shared_ptr<EVP_PKEY> key = rsa_key(n.get(), e.get());
  if (!key) fault = {"n", "is no RSA key"};
  return key;
}

std::shared_ptr<EVP_PKEY> read_p256(const WrittenKey& written, JwtKeys::Fault& fault) {
  std::string x, y;
  if (!octets(written.x, "x", x, fault) || !octets(written.y, "y", y, fault)) return nullptr;
  std::shared_ptr<EVP_PKEY> key;
  if (x.size() == kCoordinate && y.size() == kCoordinate) key = p256_key(x, y);
  if (!key) fault = {"x", "and y are no point on P-256"};
  return key;
}

}  // namespace

std::string_view name_of(JwtAlgorithm algorithm) noexcept {
  constexpr std::array<std::string_view, 3> names{"HS256", "RS256", "ES256"};
  return names[static_cast<std::size_t>(algorithm)];
}

bool JwtKey::verifies(std::string_view text, std::string_view signature) const {
  switch (algorithm_) {
    case JwtAlgorithm::hs256:
      return verify_hs256(secret_, text, signature);
    case JwtAlgorithm::rs256:
      return verify_rs256(public_.get(), text, signature);
    case JwtAlgorithm::es256:
      break;
  }
  return verify_es256(public_.get(), text, signature);
}

JwtKeys::Use JwtKeys::add(const WrittenKey& written, Fault& fault) {
  fault = {};
  const std::optional<JwtAlgorithm> algorithm = algorithm_of(written);
  if (!algorithm) {
    fault = {"kty", "is no key that tokens are verified with here; oct, RSA and EC P-256 are"};
    return Use::unsupported;
  }
  if (!written.alg.empty() && written.alg != name_of(*algorithm)) {
    fault = {"alg", "is not what such a key verifies here, which is " + std::string(name_of(*algorithm))};
    return Use::unsupported;
  }
  JwtKey key;
  key.id_ = written.kid;
  key.algorithm_ = *algorithm;
  for (const JwtKey& other : keys_) {
    if (other.id_ != key.id_ || other.algorithm_ != key.algorithm_) continue;
    fault = {"kid", "stands in the file twice"};
    return Use::wrong;
  }
  if (*algorithm == JwtAlgorithm::hs256) {
    if (octets(written.k, "k", key.secret_, fault) && key.secret_.size() < kLeastSecret) {
      fault = {"k", "has " + std::to_string(key.secret_.size()) + " octets; HS256 needs at least 32"};
    }
  } else {
    key.public_ = *algorithm == JwtAlgorithm::rs256 ? read_rsa(written, fault) : read_p256(written, fault);
  }
  ERR_clear_error();
  if (!fault.why.empty()) return Use::wrong;
  keys_.push_back(std::move(key));
  return Use::taken;
}

const JwtKey* JwtKeys::find(JwtAlgorithm algorithm, std::string_view id) const noexcept {
  const JwtKey* found = nullptr;
  for (const JwtKey& key : keys_) {
    if (key.algorithm_ != algorithm || (!id.empty() && key.id_ != id)) continue;
    if (found != nullptr) return nullptr;
    found = &key;
  }
  return found;
}

}  // namespace weir::identity
