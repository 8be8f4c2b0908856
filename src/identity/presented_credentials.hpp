// SPDX-License-Identifier: Apache-2.0
// What one request presents to prove who sends it: API keys and a token. Each is looked up once, however many
// dimensions are read from it.
#pragma once

#include <memory>
#include <string_view>

#include "identity/extraction_tables.hpp"
#include "weir/http/message.hpp"

namespace weir::identity {

class PresentedCredentials {
 public:
  // Both outlive this.
  PresentedCredentials(const ExtractionTables& tables, const http::RequestHead& head)
      : tables_(tables), head_(head) {}

  // Verifies the token, if there is one: has_token() if it is good.
  AuthFault check_token();
  bool has_token() const noexcept { return claims_ != nullptr; }

  // The key that a header carries.
  struct Key {
    const ApiKey* known = nullptr;
    bool presented = false;
    bool contradictory = false;
  };
  const Key& key(std::string_view header);

  // The dimension's attribute of the key that `header` carries, or of any known key.
  Reading read_key(std::string_view header, std::string_view dimension_name);
  Reading read_any_key(std::string_view dimension_name);
  // Views into the token, which lives as long as this.
  Reading read_claim(std::string_view name) const;

 private:
  const ExtractionTables& tables_;
  const http::RequestHead& head_;
  std::string_view key_header_;  // where key_ was looked for
  Key key_;
  std::shared_ptr<const JwtClaims> claims_;
};

}  // namespace weir::identity
