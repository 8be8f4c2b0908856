// SPDX-License-Identifier: Apache-2.0
// Why a credential was not accepted. The names are label values of a metric; neither they nor the texts for
// clients hold anything of the credential.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::identity {

enum class AuthFault : std::uint8_t {
  none,
  missing,          // required, and there is none
  contradictory,    // two differing lines
  unknown_api_key,  // no entry of the key file
  malformed,        // no compact JWS with JSON objects in it, or larger than 16 KiB
  algorithm,        // `alg` is none, unknown or not allowed here
  unknown_key,      // no key of that algorithm and `kid`
  signature,
  expired,
  not_yet_valid,  // nbf or iat lie ahead
  issuer,
  audience,
};

inline constexpr std::array<std::string_view, 12> kAuthFaultNames{
    "none",        "missing",   "contradictory", "unknown_api_key", "malformed", "algorithm",
    "unknown_key", "signature", "expired",       "not_yet_valid",   "issuer",    "audience"};

constexpr std::string_view name_of(AuthFault fault) {
  return kAuthFaultNames[static_cast<std::size_t>(fault)];
}

}  // namespace weir::identity
