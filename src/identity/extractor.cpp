// SPDX-License-Identifier: Apache-2.0
#include "identity/extractor.hpp"

#include "identity/extraction_pass.hpp"
#include "identity/extraction_tables.hpp"

namespace weir::identity {

Extractor::Extractor(ExtractorOptions options)
    : tables_(std::make_unique<ExtractionTables>(std::move(options))) {}
Extractor::~Extractor() = default;
Extractor::Extractor(Extractor&&) noexcept = default;
Extractor& Extractor::operator=(Extractor&&) noexcept = default;

void Extractor::extract(const http::RequestHead& head, const Peer& peer, Scratch& scratch,
                        Extraction& out) const {
  ExtractionPass(*tables_, head, scratch, out).run(peer);
}

void Extractor::place(std::string_view method, std::string_view normal_path, const Address& client,
                      Scratch& scratch, Extraction& out) const {
  http::RequestHead head;
  head.method_text = method;
  head.path = normal_path;
  ExtractionPass(*tables_, head, scratch, out).place(client);
}

bool Extractor::exempts(std::string_view caller) const noexcept {
  return tables_->exempt_callers.contains(caller);
}

bool Extractor::is_trusted(const Address& peer) const noexcept {
  return tables_->trusted.contains(plain_address(peer));
}

const ExtractorOptions& Extractor::options() const noexcept {
  return tables_->options;
}

std::size_t Extractor::dimensions() const noexcept {
  return tables_->dimensions;
}

std::string_view Extractor::dimension_name(Dimension d) const noexcept {
  return d < kMaxDimensions ? std::string_view(tables_->names[d]) : std::string_view();
}

}  // namespace weir::identity
