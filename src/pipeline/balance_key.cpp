// SPDX-License-Identifier: Apache-2.0
#include "pipeline/balance_key.hpp"

#include "base/hash.hpp"
#include "identity/addresses.hpp"
#include "identity/sources.hpp"

namespace weir::pipeline {
namespace {

std::string_view value_of(const upstream::HashOptions& options, const http::RequestHead& head,
                          const identity::Extraction& extraction) noexcept {
  using upstream::HashSource;
  switch (options.source) {
    case HashSource::dimension:
      return extraction.identity.text(options.dimension);
    case HashSource::path:
      return extraction.normal_path;
    case HashSource::header:
    case HashSource::cookie:
      break;
  }
  const bool header = options.source == HashSource::header;
  const identity::Reading reading =
      header ? identity::read_header(head, options.name) : identity::read_cookie(head, options.name);
  return reading.state == identity::Reading::State::present ? reading.text : std::string_view();
}

}  // namespace

std::uint64_t balance_key(const upstream::HashOptions& options, const http::RequestHead& head,
                          const identity::Extraction& extraction) noexcept {
  const std::string_view value = value_of(options, head, extraction);
  if (!value.empty()) return stable_hash(value);
  identity::AddressText client;
  return stable_hash(identity::address_text(extraction.client, client));
}

}  // namespace weir::pipeline
