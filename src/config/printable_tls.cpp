// SPDX-License-Identifier: Apache-2.0
#include "config/printable_tls.hpp"

#include "net/tls_context.hpp"

namespace weir::config {
namespace {

namespace json = boost::json;

json::object certificate_of(const net::TlsCertificate& certificate) {
  json::array names;
  for (const std::string& name : certificate.names()) names.emplace_back(name);
  return {{"file", certificate.file()},
          {"names", std::move(names)},
          {"not_after", certificate.not_after()},
          {"ocsp", !certificate.ocsp().empty()}};
}

json::value file_of(const net::TlsFile& file) {
  return file.name.empty() ? json::value(nullptr) : json::value(json::string(file.name));
}

}  // namespace

json::value tls_of(const net::TlsServerContext* context) {
  using Ask = net::TlsServerOptions::ClientCertificate;
  if (context == nullptr) return nullptr;
  const net::TlsServerOptions& options = context->options();
  json::array certificates;
  for (const auto& one : options.certificates) certificates.push_back(certificate_of(*one));
  const Ask ask = options.client_certificate;
  return {{"certificates", std::move(certificates)},
          {"client_certificate", ask == Ask::none       ? "none"
                                 : ask == Ask::optional ? "optional"
                                                        : "required"},
          {"client_ca", file_of(options.client_ca)},
          {"min_version", net::tls_version_name(options.min_version)}};
}

json::value tls_of(const net::TlsClientContext* context) {
  if (context == nullptr) return nullptr;
  const net::TlsClientOptions& options = context->options();
  json::value own = nullptr;
  if (options.certificate != nullptr) own = certificate_of(*options.certificate);
  return {{"verify", options.verify == net::TlsClientOptions::Verify::on},
          {"ca", file_of(options.ca)},
          {"server_name", options.server_name},
          {"certificate", std::move(own)}};
}

}  // namespace weir::config
