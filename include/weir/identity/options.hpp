// SPDX-License-Identifier: Apache-2.0
// How identities are found, as configured. Owned by the Runtime through identity::Extractor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/identity/identity.hpp"

namespace weir::identity {

class JwtKeys;

enum class SourceKind : std::uint8_t {
  header,
  query,  // query parameter, percent-decoded
  cookie,
  api_key,             // `name` is the header that carries the key; the value is the key entry's attribute
  peer_address,        // the client address (after trusted proxies), by prefix
  region,              // CIDR table look-up of the client address
  client_certificate,  // `name` is the part of the verified certificate: subject, cn, san_dns, san_uri,
                       // san_email
  jwt,                 // `name` is the claim of the verified token; dots lead into nested objects
};

struct Source {
  SourceKind kind = SourceKind::header;
  std::string name;           // header, parameter or cookie name
  bool trusted_only = false;  // `trust: proxies`: ignored unless the TCP peer is a trusted proxy
};

// What an absent, empty or contradictory value becomes.
enum class Missing : std::uint8_t { anonymous, ip, reject };

struct DimensionOptions {
  std::string name;
  Dimension index = 0;
  std::vector<Source> from;
  std::optional<Missing> missing;  // required (by validation) where a layer's key uses the dimension
  int reject_status = 401;
  bool used_by_layer = false;  // some layer's key contains it
};

// An address block; IPv4 is kept as IPv4-mapped IPv6 so that ::ffff:1.2.3.4 equals 1.2.3.4.
struct Cidr {
  std::array<std::uint8_t, 16> bytes{};
  int prefix = 128;  // 0 .. 128, of the mapped form
};

struct PathOptions {
  bool forward_normal = false;       // paths.forward: normal
  bool keep_encoded_slash = false;   // paths.encoded_slash: keep
  bool fold_case = false;            // paths.fold: [case]
  bool fold_trailing_slash = false;  // paths.fold: [trailing_slash]
};

// "POST /order/{id}/pay", "/report/**". No method: every method, one counter.
struct PathPattern {
  std::string text;    // as written; the api value is this text
  std::string method;  // "" = any
  std::string path;    // segments: literal, {name} = one segment, ** (last) = the rest
};

struct ApiClass {
  std::string name;
  std::vector<PathPattern> patterns;
};

struct RegionEntry {
  Cidr block;
  std::string name;
};

// One line of the API-key file. Keys are kept as SHA-256, never in the clear.
struct ApiKey {
  std::string sha256_hex;
  std::vector<std::pair<std::string, std::string>> attributes;  // dimension name -> value
};

enum class JwtAlgorithm : std::uint8_t { hs256, rs256, es256 };

// How tokens are verified. Claims that sources name are kept, all others forgotten.
struct JwtOptions {
  std::shared_ptr<const JwtKeys> keys;  // null: no tokens are read
  std::string header =
      "Authorization";                 // there after the scheme Bearer; in any other field, that is optional
  std::string issuer;                  // "": any
  std::vector<std::string> audiences;  // empty: any; else one of them has to be in `aud`
  std::int64_t leeway_ms = 60'000;     // for exp, nbf and iat, 0 .. 1 h
  std::vector<JwtAlgorithm> algorithms{JwtAlgorithm::hs256, JwtAlgorithm::rs256, JwtAlgorithm::es256};
};

// What a request has to prove.
enum class Credential : std::uint8_t { none, api_key, jwt, any };

// What becomes of a request with a credential that is not good.
enum class OnInvalid : std::uint8_t {
  refuse,     // 401, also where none is required
  anonymous,  // as if it carried none
};

struct CredentialRule {
  PathPattern path;
  Credential required = Credential::none;
};

// Proof of identity, before anything is counted (spec ID-6).
struct AuthOptions {
  std::string api_key_header;  // "": keys are looked up by sources only, and an unknown one is no fault
  JwtOptions jwt;
  Credential required = Credential::none;
  std::vector<CredentialRule> by_path;  // the most specific rule counts; where none matches, `required`
  OnInvalid on_invalid = OnInvalid::refuse;
  const Clock* clock = &system_clock();
};

struct ExemptOptions {
  std::vector<std::string> callers;
  std::vector<Cidr> blocks;  // of the client address
  std::vector<PathPattern> paths;
};

struct ExtractorOptions {
  std::string node;
  std::vector<DimensionOptions> dimensions;
  std::vector<Cidr> trusted_proxies;
  int ipv4_prefix = 32;
  int ipv6_prefix = 64;
  PathOptions paths;
  std::vector<PathPattern> apis;  // templates of routes and quota paths
  std::vector<ApiClass> classes;  // first match in order; a class without patterns takes the rest
  std::vector<RegionEntry> regions;
  std::vector<ApiKey> api_keys;
  AuthOptions auth;
  ExemptOptions exempt;
  std::vector<std::string> asserted_headers;  // ID-5: removed from every client request (lower case)
};

}  // namespace weir::identity
