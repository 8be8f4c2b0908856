// SPDX-License-Identifier: Apache-2.0
#include "tokens.hpp"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

namespace weir::identity::test {
namespace {

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string number(const EVP_PKEY* key, const char* name, std::size_t size = 0) {
  BIGNUM* value = nullptr;
  EXPECT_EQ(EVP_PKEY_get_bn_param(key, name, &value), 1);
  std::string out(size == 0 ? static_cast<std::size_t>(BN_num_bytes(value)) : size, '\0');
  BN_bn2binpad(value, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size()));
  BN_free(value);
  return to_base64url(out);
}

// r and s of a DER signature, 32 octets each.
std::string raw_pair(std::string_view der) {
  const unsigned char* at = octets(der);
  ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
  std::string out(64, '\0');
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(pair), to, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair), to + 32, 32);
  ECDSA_SIG_free(pair);
  return out;
}

}  // namespace

std::string to_base64url(std::string_view text) {
  std::string out((text.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), octets(text),
                                   static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out.substr(0, out.find('='));
}

std::string hmac(std::string_view secret, std::string_view text) {
  std::string out(32, '\0');
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), octets(text), text.size(),
       reinterpret_cast<unsigned char*>(out.data()), &size);
  return out;
}

Signer::Signer(JwtAlgorithm algorithm, std::string_view kid) : algorithm_(algorithm), kid_(kid) {
  written_.kid = kid;
  written_.alg = name_of(algorithm);
  if (algorithm == JwtAlgorithm::hs256) {
    secret_.resize(32);
    RAND_bytes(reinterpret_cast<unsigned char*>(secret_.data()), 32);
    written_.kty = "oct";
    written_.k = to_base64url(secret_);
  } else if (algorithm == JwtAlgorithm::rs256) {
    pair_.reset(EVP_RSA_gen(2048), EVP_PKEY_free);
    written_.kty = "RSA";
    written_.n = number(pair_.get(), OSSL_PKEY_PARAM_RSA_N);
    written_.e = number(pair_.get(), OSSL_PKEY_PARAM_RSA_E);
  } else {
    pair_.reset(EVP_EC_gen("prime256v1"), EVP_PKEY_free);
    written_.kty = "EC";
    written_.crv = "P-256";
    written_.x = number(pair_.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32);
    written_.y = number(pair_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32);
  }
}

std::string Signer::sign(std::string_view text) const {
  if (algorithm_ == JwtAlgorithm::hs256) return hmac(secret_, text);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, pair_.get());
  std::string out(512, '\0');
  std::size_t size = out.size();
  EXPECT_EQ(
      EVP_DigestSign(context, reinterpret_cast<unsigned char*>(out.data()), &size, octets(text), text.size()),
      1);
  EVP_MD_CTX_free(context);
  out.resize(size);
  return algorithm_ == JwtAlgorithm::es256 ? raw_pair(out) : out;
}

std::string Signer::token_with(std::string_view header, std::string_view payload) const {
  const std::string text = to_base64url(header) + "." + to_base64url(payload);
  return text + "." + to_base64url(sign(text));
}

std::string Signer::token(std::string_view payload) const {
  return token_with(R"({"alg":")" + std::string(name_of(algorithm_)) + R"(","kid":")" + kid_ + R"("})",
                    payload);
}

std::string Signer::public_pem() const {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, pair_.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string out(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return out;
}

std::shared_ptr<const JwtKeys> keys_of(std::initializer_list<const Signer*> signers) {
  auto keys = std::make_shared<JwtKeys>();
  for (const Signer* signer : signers) {
    JwtKeys::Fault fault;
    EXPECT_EQ(keys->add(signer->written(), fault), JwtKeys::Use::taken) << fault.member << " " << fault.why;
  }
  return keys;
}

}  // namespace weir::identity::test
