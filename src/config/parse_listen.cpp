// SPDX-License-Identifier: Apache-2.0
// `listen`: addresses, and what is spoken there (on the admin port, too). Certificates and keys are read
// here, so they are watched and reloaded with everything else; no message quotes them.
#include "config/parse.hpp"
#include "net/tls_context.hpp"

namespace weir::config {

namespace {

using ClientCertificate = net::TlsServerOptions::ClientCertificate;

// `certificate`, `key` and `ocsp_file` of one section.
void parse_pair(Section& section, const std::string& weir_file, net::TlsServerOptions& options) {
  net::TlsFile certificate;
  net::TlsFile key;
  net::TlsFile ocsp;
  const bool has_certificate = read_tls_file(section, "certificate", weir_file, certificate);
  const bool has_key = read_tls_file(section, "key", weir_file, key);
  read_tls_file(section, "ocsp_file", weir_file, ocsp);
  for (const std::string_view wanted : {"certificate", "key"}) {
    if (section.find(wanted) == nullptr) section.error(wanted, "is missing; write the name of a PEM file");
  }
  if (!has_certificate || !has_key) return;
  auto loaded = take_certificate(section, certificate, key, ocsp);
  if (loaded != nullptr) options.certificates.push_back(std::move(loaded));
}

void parse_certificates(Section& tls, const std::string& weir_file, net::TlsServerOptions& options) {
  const Node* const list = tls.find("certificates");
  const bool has_own = tls.find("certificate") != nullptr || tls.find("key") != nullptr;
  if (has_own || list == nullptr) parse_pair(tls, weir_file, options);
  if (list == nullptr) return;
  if (list->kind != Node::Kind::sequence || list->items.empty()) {
    return tls.error("certificates", "needs a list such as [{certificate: FILE, key: FILE}]");
  }
  for (std::size_t n = 0; n < list->items.size(); ++n) {
    Section item(list->items[n], tls.path_of("certificates") + "[" + std::to_string(n) + "]", tls.context());
    parse_pair(item, weir_file, options);
    item.finish();
  }
}

void parse_clients(Section& tls, const std::string& weir_file, net::TlsServerOptions& options) {
  static constexpr Word<ClientCertificate> asked[] = {{"required", ClientCertificate::required},
                                                      {"optional", ClientCertificate::optional}};
  const bool has_authority = read_tls_file(tls, "client_ca", weir_file, options.client_ca);
  if (has_authority) options.client_certificate = ClientCertificate::required;
  const bool says = tls.word("client_certificate", options.client_certificate, asked);
  if (says && tls.find("client_ca") == nullptr) {
    tls.error("client_certificate", "needs client_ca: the authorities whose clients are let in");
  }
}

void parse_speech(Section& item, Document& document, http::ListenerOptions& options) {
  using Preamble = http::ListenerOptions::Preamble;
  bool proxy_protocol = false;
  item.boolean("proxy_protocol", proxy_protocol);
  if (proxy_protocol) options.preamble = Preamble::proxy_protocol;
  options.tls = parse_server_tls(item, document.weir_file);
}

}  // namespace

std::shared_ptr<const net::TlsServerContext> parse_server_tls(Section& parent, const std::string& weir_file) {
  const Node* const node = parent.find("tls");
  const bool plain =
      node == nullptr || (node->kind == Node::Kind::scalar && !node->quoted && node->text == "none");
  if (plain) return nullptr;
  Section tls(*node, parent.path_of("tls"), parent.context());
  net::TlsServerOptions options;
  options.ticket_keys = &net::process_ticket_keys();
  parse_certificates(tls, weir_file, options);
  parse_clients(tls, weir_file, options);
  static constexpr Word<net::TlsVersion> versions[] = {{"1.2", net::TlsVersion::tls1_2},
                                                       {"1.3", net::TlsVersion::tls1_3}};
  tls.word("min_version", options.min_version, versions);
  tls.finish();
  const bool asks = options.client_certificate != ClientCertificate::none;
  if (options.certificates.empty() || (asks && options.client_ca.name.empty())) return nullptr;
  std::string why;
  auto made = net::TlsServerContext::make(std::move(options), why);
  if (made == nullptr) tls.error("client_ca", why);
  return made;
}

void parse_listen(Section& root, Document& document) {
  const Node* const list = root.find("listen");
  if (list == nullptr) {
    document.listeners.push_back({{"127.0.0.1", 8080}, root.at(), "listen"});
    return;
  }
  if (list->kind != Node::Kind::sequence || list->items.empty()) {
    root.error("listen", "needs a list such as [{address: \"0.0.0.0:8080\"}]");
    return;
  }
  for (std::size_t n = 0; n < list->items.size(); ++n) {
    Section item(list->items[n], "listen[" + std::to_string(n) + "]", root.context());
    http::ListenerOptions options;
    HostPort address;
    if (item.host_port("address", address)) {
      document.listeners.push_back(
          {{address.host, address.port}, item.at("address"), item.path_of("address")});
      options.host = address.host;
      options.port = address.port;
    } else if (item.find("address") == nullptr) {
      item.error("address", "is missing; write one such as \"0.0.0.0:8080\"");
    }
    parse_speech(item, document, options);
    document.server.listeners.push_back(std::move(options));
    item.finish();
  }
}

}  // namespace weir::config
