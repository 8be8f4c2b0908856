// SPDX-License-Identifier: Apache-2.0
// Keys and tokens made by OpenSSL for one run of the tests.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "identity/jwt_keys.hpp"

namespace weir::identity::test {

std::string to_base64url(std::string_view octets);

// One key with its private half: signs what a test writes, and knows what the key set says of it.
class Signer {
 public:
  explicit Signer(JwtAlgorithm algorithm, std::string_view kid = "k1");

  const WrittenKey& written() const { return written_; }
  const std::string& secret() const { return secret_; }  // hs256

  // The signature as tokens carry it, in raw octets.
  std::string sign(std::string_view text) const;
  // A token with the header {"alg": ..., "kid": ...} or with the header given.
  std::string token(std::string_view payload) const;
  std::string token_with(std::string_view header, std::string_view payload) const;
  // The public key as PEM: what an attacker may know.
  std::string public_pem() const;

 private:
  JwtAlgorithm algorithm_;
  std::string kid_;
  std::string secret_;
  std::shared_ptr<EVP_PKEY> pair_;
  WrittenKey written_;
};

// HMAC-SHA256 with any octets as the secret.
std::string hmac(std::string_view secret, std::string_view text);

// A set of the signers' keys; fails the test if one is not taken.
std::shared_ptr<const JwtKeys> keys_of(std::initializer_list<const Signer*> signers);

}  // namespace weir::identity::test
