// SPDX-License-Identifier: Apache-2.0
// Verifies JSON Web Tokens (RFC 7519) in the compact form of a JWS (RFC 7515): HS256, RS256 and ES256, with
// keys of a local set. Strict where the RFCs leave a choice: duplicate members, `crit`, padding and anything
// beyond 16 KiB are refused. The token names its algorithm, but the key decides: only a key of exactly that
// algorithm is ever looked at, and `none` is the name of no algorithm.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "identity/auth_fault.hpp"
#include "weir/identity/options.hpp"

namespace weir::identity {

// What a verified token said, as far as the configuration asks for it.
struct JwtClaims {
  enum class State : std::uint8_t {
    absent,
    present,   // a string, or a whole number as decimal digits
    unusable,  // an array, an object, a truth value, null, or a number that has no one spelling
  };
  struct Claim {
    State state = State::absent;
    std::string text;
  };
  // In the order of the names given to the verifier.
  std::vector<Claim> claims;
  // Wall time within which the token is good, the leeway included. A token without `exp` is good until its
  // key leaves the key set.
  std::int64_t from_ms = std::numeric_limits<std::int64_t>::min();
  std::int64_t until_ms = std::numeric_limits<std::int64_t>::max();

  // none, not_yet_valid or expired.
  AuthFault at(std::int64_t wall_ms) const noexcept;
  // Octets of all texts.
  std::size_t size() const noexcept;
};

struct JwtOutcome {
  AuthFault fault = AuthFault::none;
  std::shared_ptr<const JwtClaims> claims;  // null unless the signature and all else but the time is good
};

inline constexpr std::size_t kMaxToken = 16 * 1024;

// Immutable; every call from every thread.
class JwtVerifier {
 public:
  // `claims`: names of the claims to keep, "azp" or "realm.tenant". The whole name is tried as one member
  // first, since names with dots in them ("https://a.test/tenant") are common.
  JwtVerifier(JwtOptions options, std::vector<std::string> claims);

  // Does all the work each time; see JwtCache.
  JwtOutcome verify(std::string_view token, std::int64_t wall_ms) const;

 private:
  JwtOptions options_;
  std::vector<std::string> claims_;
};

}  // namespace weir::identity
