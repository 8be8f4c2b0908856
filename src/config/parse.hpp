// SPDX-License-Identifier: Apache-2.0
// Tree -> Document, one function per area. Each reports what it finds wrong and leaves defaults in its place,
// so that one run names everything; none of them looks at another area (that is validate's job).
#pragma once

#include "config/document.hpp"
#include "config/section.hpp"

namespace weir::net {
class TlsCertificate;
struct TlsFile;
}  // namespace weir::net

namespace weir::config {

// The whole of weir.yaml, and the files it names except the quotas.
void parse_weir(const Node& tree, Document& document, Context& context);
// The whole of quotas.yaml. `file` is its path: overrides_file is looked up beside it.
void parse_quotas(const Node& tree, const std::string& file, Document& document, Context& context);

// Areas of weir.yaml.
void parse_gateway(Section& root, Document& document);
void parse_listen(Section& root, Document& document);
void parse_client_limits(Section& root, Document& document);
void parse_answers(Section& root, Document& document);
void parse_log(Section& root, Document& document);
void parse_identity(Section& root, Document& document);
void parse_auth(Section& root, Document& document);
void parse_jwt(Section& auth, Document& document);
void parse_classes(Section& root, Document& document);
void parse_upstreams(Section& root, Document& document);
// How an upstream is looked after: health, ejection, retries, connection caps.
void parse_upstream_care(Section& upstream, upstream::ClusterOptions& cluster);
void parse_upstream_tls(Section& upstream, const std::string& weir_file, upstream::ClusterOptions& cluster);
void parse_routes(Section& root, Document& document);
void parse_store(Section& root, Document& document);

// Parts of quotas.yaml.
void parse_layer(const Entry& entry, const std::string& file, QuotaSpec& quotas, Context& context);
LimitSpec parse_limit(const Node& node, const std::string& path, Context& context);
void parse_settings(Section& section, Settings& settings);
std::vector<OverrideSpec> parse_overrides(const Node& node, const std::string& path, const std::string& layer,
                                          Context& context);
std::vector<KeyedLimit> parse_keyed_limits(const Node& node, const std::string& path, Context& context);

// "20%"; as Section's own functions do.
bool parse_percent_of(Section& section, std::string_view key, int& out, Range<int> range);
// The key `tls` of whatever connects to somebody: `{}` is TLS with every default; `none`, or no such key,
// leaves both alone. `version` changes with what the context is made of.
void parse_client_tls(Section& parent, const std::string& weir_file,
                      std::shared_ptr<const net::TlsClientContext>& context, std::string& version);
// The key `tls` of whoever listens. nullptr: plain HTTP, or what is wrong has been reported.
std::shared_ptr<const net::TlsServerContext> parse_server_tls(Section& parent, const std::string& weir_file);
// A file that the configuration names.
struct NamedFile {
  std::string path;
  std::string bytes;
};
// The file named at `key`, looked up beside the file `from`. nullopt without the key, or if it cannot be
// read, which is reported at the key.
std::optional<NamedFile> read_named_file(Section& section, std::string_view key, const std::string& from);
// The same for what TLS is made of. `out` is left alone where nothing was read; true: it was.
bool read_tls_file(Section& section, std::string_view key, const std::string& from, net::TlsFile& out);
// The pair of these files (certificates.cpp says what becomes of one that is not valid now). nullptr: what is
// wrong has been reported at `certificate`.
std::shared_ptr<const net::TlsCertificate> take_certificate(Section& section, const net::TlsFile& certificate,
                                                            const net::TlsFile& key,
                                                            const net::TlsFile& ocsp);
// A secret from a file: its first line. Reports a missing or empty file at `key`.
bool read_secret_file(Section& section, std::string_view key, const std::string& weir_file, std::string& out);
// none, api_key, jwt or any; as Section's own functions do.
bool parse_credential(Section& section, std::string_view key, identity::Credential& out);
// A path pattern, reported at `at` if it is none.
std::optional<identity::PathPattern> parse_pattern(const std::string& text, Position at,
                                                   const std::string& path, Context& context);

// name -> index of the built-in dimensions; nullopt for others.
std::optional<identity::Dimension> built_in_dimension(std::string_view name);
// Letters, digits, `_` and `-`, starting with a letter; 1 to 64 characters.
bool is_name(std::string_view text);
// A token as HTTP has it: what a field or a method may be called.
bool is_token(std::string_view text);

}  // namespace weir::config
