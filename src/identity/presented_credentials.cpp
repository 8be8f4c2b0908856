// SPDX-License-Identifier: Apache-2.0
#include "identity/presented_credentials.hpp"

namespace weir::identity {

AuthFault PresentedCredentials::check_token() {
  JwtOutcome token = tables_.authenticator.token_of(head_);
  if (token.fault == AuthFault::none) claims_ = std::move(token.claims);
  return token.fault;
}

const PresentedCredentials::Key& PresentedCredentials::key(std::string_view header) {
  if (header == key_header_) return key_;
  const Reading reading = read_header(head_, header);
  key_header_ = header;
  key_.contradictory = reading.state == Reading::State::contradictory;
  key_.presented = reading.state == Reading::State::present;
  key_.known = key_.presented ? tables_.keys.find(reading.text) : nullptr;
  return key_;
}

Reading PresentedCredentials::read_key(std::string_view header, std::string_view dimension_name) {
  const Key& found = key(header);
  if (found.contradictory) return {Reading::State::contradictory, {}};
  const std::string_view value =
      found.known == nullptr ? std::string_view() : attribute(*found.known, dimension_name);
  if (value.empty()) return {};
  return {Reading::State::present, value};
}

Reading PresentedCredentials::read_any_key(std::string_view dimension_name) {
  for (const std::string& header : tables_.key_headers) {
    const Reading reading = read_key(header, dimension_name);
    if (reading.state == Reading::State::present) return reading;
  }
  return {};
}

// A claim of another type than text or number is no reason to ask the next source, which anyone may write.
Reading PresentedCredentials::read_claim(std::string_view name) const {
  const auto* claim = claims_ == nullptr ? nullptr : tables_.authenticator.claim(*claims_, name);
  if (claim == nullptr || claim->state == JwtClaims::State::absent) return {};
  if (claim->state == JwtClaims::State::unusable) return {Reading::State::contradictory, {}};
  return read_text(claim->text);
}

}  // namespace weir::identity
