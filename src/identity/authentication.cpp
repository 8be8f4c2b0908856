// SPDX-License-Identifier: Apache-2.0
#include "identity/authentication.hpp"

#include <algorithm>

#include "identity/sources.hpp"
#include "identity/trim.hpp"

namespace weir::identity {
namespace {

constexpr std::string_view kScheme = "Bearer";
constexpr std::string_view kBearer = R"(Bearer realm="gateway")";
constexpr std::string_view kApiKey = R"(ApiKey realm="gateway")";

std::vector<std::string> claim_names(const ExtractorOptions& options) {
  std::vector<std::string> names;
  for (const DimensionOptions& each : options.dimensions) {
    for (const Source& source : each.from) {
      const bool known = std::find(names.begin(), names.end(), source.name) != names.end();
      if (source.kind == SourceKind::jwt && !known) names.push_back(source.name);
    }
  }
  return names;
}

PathTable rule_table(const std::vector<CredentialRule>& rules, const PathOptions& paths) {
  std::vector<PathPattern> patterns;
  for (const CredentialRule& rule : rules) patterns.push_back(rule.path);
  return PathTable(patterns, paths);
}

}  // namespace

Authenticator::Authenticator(const ExtractorOptions& options)
    : checks_api_keys_(!options.auth.api_key_header.empty()),
      is_authorization_(http::iequals(options.auth.jwt.header, "Authorization")),
      token_header_(options.auth.jwt.header),
      claim_names_(claim_names(options)),
      required_(options.auth.required),
      rules_(rule_table(options.auth.by_path, options.paths)),
      on_invalid_(options.auth.on_invalid),
      clock_(options.auth.clock) {
  for (const CredentialRule& rule : options.auth.by_path) required_by_rule_.push_back(rule.required);
  if (options.auth.jwt.keys != nullptr) verifier_.emplace(options.auth.jwt, claim_names_);
  // What is required but cannot be proved is refused, never waved through.
  enabled_ = checks_api_keys_ || verifier_ || required_ != Credential::none || !required_by_rule_.empty();
}

JwtOutcome Authenticator::token_of(const http::RequestHead& head) const {
  if (!verifier_) return {};
  const Reading field = read_header(head, token_header_);
  if (field.state == Reading::State::contradictory) return {AuthFault::contradictory, nullptr};
  if (field.state == Reading::State::absent) return {};
  std::string_view token = field.text;
  const std::string_view scheme = token.substr(0, token.find_first_of(" \t"));
  if (http::iequals(scheme, kScheme)) {
    token = trim(token.substr(scheme.size()));
  } else if (is_authorization_) {
    return {};  // another scheme, such as Basic, is the upstream's business
  }
  return cache_.verify(*verifier_, token, clock_->wall_ms());
}

const JwtClaims::Claim* Authenticator::claim(const JwtClaims& claims, std::string_view name) const noexcept {
  const auto found = std::find(claim_names_.begin(), claim_names_.end(), name);
  return found == claim_names_.end() ? nullptr : &claims.claims[found - claim_names_.begin()];
}

Credential Authenticator::required(std::string_view method, std::string_view normal_path) const {
  if (required_by_rule_.empty()) return required_;
  const auto rule = rules_.find(method, normal_path);
  return rule ? required_by_rule_[*rule] : required_;
}

bool satisfies(Credential proved, Credential required) noexcept {
  if (required == Credential::none) return true;
  if (required == Credential::any) return proved != Credential::none;
  return proved == required || proved == Credential::any;
}

std::string_view challenge(AuthFault fault, Credential asked) noexcept {
  if (asked == Credential::api_key) {
    return fault == AuthFault::missing ? kApiKey : R"(ApiKey realm="gateway", error="invalid_key")";
  }
  switch (fault) {
    case AuthFault::missing:
      return asked == Credential::any ? R"(Bearer realm="gateway", ApiKey realm="gateway")" : kBearer;
    case AuthFault::expired:
      return R"(Bearer realm="gateway", error="invalid_token", error_description="the token is expired")";
    case AuthFault::not_yet_valid:
      return R"(Bearer realm="gateway", error="invalid_token", error_description="the token is not valid yet")";
    case AuthFault::issuer:
    case AuthFault::audience:
      return R"(Bearer realm="gateway", error="invalid_token", error_description="the token is not for this service")";
    default:
      break;
  }
  return R"(Bearer realm="gateway", error="invalid_token", error_description="the token is not valid")";
}

std::string_view reason_of(AuthFault fault) noexcept {
  switch (fault) {
    case AuthFault::none:
      return "";
    case AuthFault::missing:
      return "this request needs a credential and carries none";
    case AuthFault::contradictory:
      return "two differing credentials were sent";
    case AuthFault::unknown_api_key:
      return "the API key is not known";
    case AuthFault::malformed:
      return "the token is not a well-formed JSON Web Token";
    case AuthFault::algorithm:
      return "the token's algorithm is not accepted";
    case AuthFault::unknown_key:
    case AuthFault::signature:
      return "the token's signature cannot be verified";
    case AuthFault::expired:
      return "the token is expired";
    case AuthFault::not_yet_valid:
      return "the token is not valid yet";
    case AuthFault::issuer:
    case AuthFault::audience:
      break;
  }
  return "the token is not for this service";
}

}  // namespace weir::identity
