// SPDX-License-Identifier: Apache-2.0
// One request on its way through an Extractor: client, path, api and class, credentials, then each dimension
// from the first source that speaks.
#pragma once

#include <string_view>

#include "identity/extraction_tables.hpp"
#include "identity/extractor.hpp"
#include "identity/presented_credentials.hpp"

namespace weir::identity {

class ExtractionPass {
 public:
  // All outlive this; `out` is as new.
  ExtractionPass(const ExtractionTables& tables, const http::RequestHead& head, Scratch& scratch,
                 Extraction& out)
      : tables_(tables), head_(head), scratch_(scratch), out_(out), credentials_(tables, head) {}

  // Extractor::place() and Extractor::extract().
  void place(const Address& client);
  void run(const Extractor::Peer& peer);

 private:
  void find_client(const Address& peer);
  void find_block();
  void find_path();
  void find_api_and_class();
  std::string_view class_of() const;
  void check_credentials();
  void check_key(std::string_view header);
  void fail(AuthFault fault, Credential presented);
  void find_dimension(const SoughtDimension& each);
  Reading read(const NamedSource& from, std::string_view dimension_name);
  Reading read_kept_query(std::string_view name);
  Reading read_kept_claim(std::string_view name);
  void miss(const DimensionOptions& wanted);
  std::string_view marked_address();
  bool is_exempt() const;
  void refuse(Refusal refusal, int status, std::string_view reason);
  void refuse_credential(AuthFault fault, Credential asked);
  void set(Dimension d, std::string_view text) { out_.identity[d] = {text, Presence::present}; }

  const ExtractionTables& tables_;
  const http::RequestHead& head_;
  Scratch& scratch_;
  Extraction& out_;
  const net::TlsPeer* certificate_ = nullptr;
  PresentedCredentials credentials_;
  Credential failed_ = Credential::none;  // what kind of credential auth_fault speaks of
  bool caller_is_vouched_for_ = false;
  std::string_view marked_;
};

}  // namespace weir::identity
