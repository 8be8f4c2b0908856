// SPDX-License-Identifier: Apache-2.0
// Tokens. An input with a line feed is a header and a payload that the right key signs here, so that the
// claims are reached; any other is a token as it came, which must not be good unless its signature is.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "fuzz/fuzzing.hpp"
#include "identity/jwt.hpp"
#include "identity/jwt_keys.hpp"

namespace weir::fuzz {
namespace {

using identity::AuthFault;
using identity::JwtClaims;

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kSecretText = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
constexpr std::int64_t kNowMs = 1'700'000'000'000;

std::string to_base64url(std::string_view octets) {
  std::string out(4 * ((octets.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(octets.data()), static_cast<int>(octets.size()));
  out.resize(static_cast<std::size_t>(size));
  while (out.ends_with('=')) out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

std::string signature_of(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), kSecret.data(), static_cast<int>(kSecret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size);
  return to_base64url({reinterpret_cast<const char*>(digest.data()), size});
}

const identity::JwtVerifier& verifier() {
  static const identity::JwtVerifier made = [] {
    auto keys = std::make_shared<identity::JwtKeys>();
    identity::WrittenKey key;
    key.kty = "oct";
    key.alg = "HS256";
    key.kid = "k1";
    key.k = kSecretText;
    identity::JwtKeys::Fault fault;
    require(keys->add(key, fault) == identity::JwtKeys::Use::taken, "the key is taken");
    identity::JwtOptions options;
    options.keys = keys;
    return identity::JwtVerifier(options, {"azp", "realm.tenant", "sub"});
  }();
  return made;
}

void check_outcome(const identity::JwtOutcome& outcome) {
  require(outcome.fault != AuthFault::none || outcome.claims != nullptr, "a good token has claims");
  if (outcome.claims == nullptr) return;
  require(outcome.claims->claims.size() == 3, "one entry for each claim that was asked for");
  for (const JwtClaims::Claim& claim : outcome.claims->claims) {
    require(claim.state == JwtClaims::State::present || claim.text.empty(), "no text without a value");
  }
  require(outcome.claims->at(kNowMs) == outcome.fault, "the fault is the time's");
}

void run_token(std::string_view token) {
  const identity::JwtOutcome outcome = verifier().verify(token, kNowMs);
  check_outcome(outcome);
  if (outcome.claims == nullptr) return;
  const std::size_t dot = token.rfind('.');
  require(dot != std::string_view::npos, "a good token has three parts");
  require(token.substr(dot + 1) == signature_of(token.substr(0, dot)), "a good token is signed");
}

void run_signed(std::string_view header, std::string_view payload) {
  std::string token = to_base64url(header) + "." + to_base64url(payload);
  token += "." + signature_of(token);
  const identity::JwtOutcome outcome = verifier().verify(token, kNowMs);
  check_outcome(outcome);
  if (outcome.claims == nullptr) return;
  token.back() = token.back() == 'A' ? 'E' : 'A';
  require(verifier().verify(token, kNowMs).claims == nullptr, "another signature is not good");
}

void run(std::string_view bytes) {
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return run_token(bytes);
  run_signed(bytes.substr(0, line), bytes.substr(line + 1));
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
