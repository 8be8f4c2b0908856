// SPDX-License-Identifier: Apache-2.0
// The three signatures of RFC 7518 that tokens may carry. Each takes the raw octets of the signature, refuses
// a wrong size before anything is computed, and leaves no error behind in OpenSSL's queue. Any thread.
#pragma once

#include <openssl/types.h>

#include <string_view>

namespace weir::identity {

// HMAC with SHA-256, compared in constant time.
bool verify_hs256(std::string_view secret, std::string_view text, std::string_view signature);
// RSASSA-PKCS1-v1_5 with SHA-256.
bool verify_rs256(EVP_PKEY* key, std::string_view text, std::string_view signature);
// ECDSA on P-256 with SHA-256; the signature is r and s, 32 octets each (not DER).
bool verify_es256(EVP_PKEY* key, std::string_view text, std::string_view signature);

}  // namespace weir::identity
