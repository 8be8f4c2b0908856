// SPDX-License-Identifier: Apache-2.0
// The keys that tokens are verified with: a JSON Web Key Set (RFC 7517), made ready for use.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/identity/options.hpp"

namespace weir::identity {

// "HS256", "RS256", "ES256".
std::string_view name_of(JwtAlgorithm algorithm) noexcept;

// One key as the file writes it; members that are not there are empty. Binary members are base64url.
struct WrittenKey {
  std::string kty, kid, alg, crv;
  std::string k;     // oct
  std::string n, e;  // RSA
  std::string x, y;  // EC
};

// A key is of exactly one algorithm: what `kty` can do and `alg`, if it is there, says too. So a token cannot
// make a public RSA key serve as an HMAC secret.
class JwtKey {
 public:
  const std::string& id() const noexcept { return id_; }
  JwtAlgorithm algorithm() const noexcept { return algorithm_; }

  // Whether `signature` (raw octets) is this key's over `text`. Safe from every thread.
  bool verifies(std::string_view text, std::string_view signature) const;

 private:
  friend class JwtKeys;
  std::string id_;
  JwtAlgorithm algorithm_ = JwtAlgorithm::hs256;
  std::string secret_;                // hs256
  std::shared_ptr<EVP_PKEY> public_;  // rs256, es256
};

// Filled when the configuration is loaded, unchanging afterwards.
class JwtKeys {
 public:
  struct Fault {
    std::string member;  // of the JWK, "n"; "" for the key as a whole
    std::string why;     // never quotes key material; "" if the key was taken
  };
  enum class Use : std::uint8_t {
    taken,
    unsupported,  // a kind of key, curve or algorithm that this gateway does not verify: to be skipped
    wrong,        // one of ours, but broken
  };

  // Least strength: 32 octets of secret, 2048 bits of RSA, a point on P-256.
  Use add(const WrittenKey& written, Fault& fault);

  bool empty() const noexcept { return keys_.empty(); }
  std::size_t size() const noexcept { return keys_.size(); }
  // The key of that algorithm and id; for a token without `kid` (id ""), the only key of that algorithm.
  // nullptr if there is none, or several.
  const JwtKey* find(JwtAlgorithm algorithm, std::string_view id) const noexcept;

 private:
  std::vector<JwtKey> keys_;
};

}  // namespace weir::identity
