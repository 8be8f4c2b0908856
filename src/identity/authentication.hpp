// SPDX-License-Identifier: Apache-2.0
// What a request proves before anything is counted (spec ID-6), and what a client is told that proves nothing
// or proves it badly. Nothing of a credential ever leaves this file: faults are names, texts are constants.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "identity/auth_fault.hpp"
#include "identity/jwt.hpp"
#include "identity/jwt_cache.hpp"
#include "identity/path_table.hpp"
#include "weir/http/message.hpp"
#include "weir/identity/options.hpp"

namespace weir::identity {

// Immutable but for the cache of verified tokens; safe from every worker.
class Authenticator {
 public:
  // Keeps no reference to `options`.
  explicit Authenticator(const ExtractorOptions& options);

  // Whether requests are looked at at all.
  bool enabled() const noexcept { return enabled_; }
  bool checks_api_keys() const noexcept { return checks_api_keys_; }
  bool refuses_invalid() const noexcept { return on_invalid_ == OnInvalid::refuse; }

  // The request's token, verified. No claims and no fault: it carries none.
  JwtOutcome token_of(const http::RequestHead& head) const;

  // The claim of that name as a source reads it; views into `claims`.
  const JwtClaims::Claim* claim(const JwtClaims& claims, std::string_view name) const noexcept;

  Credential required(std::string_view method, std::string_view normal_path) const;

 private:
  bool enabled_ = false;
  bool checks_api_keys_ = false;
  bool is_authorization_ = false;
  std::string token_header_;
  std::vector<std::string> claim_names_;
  std::optional<JwtVerifier> verifier_;
  JwtCache cache_;
  Credential required_;
  PathTable rules_;
  std::vector<Credential> required_by_rule_;
  OnInvalid on_invalid_;
  const Clock* clock_;
};

// Whether what was proved (`any`: both) is what is required.
bool satisfies(Credential proved, Credential required) noexcept;

// The value of WWW-Authenticate. `asked`: the kind of credential that failed, or that is required.
std::string_view challenge(AuthFault fault, Credential asked) noexcept;
// The same for people.
std::string_view reason_of(AuthFault fault) noexcept;

}  // namespace weir::identity
