// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "config/parse.hpp"
#include "config/resolve.hpp"
#include "config/validate.hpp"
#include "net/tls_context.hpp"

namespace weir::config {

namespace {

using identity::Source;
using identity::SourceKind;

// Dimensions that every request has a value of.
bool never_missing(std::string_view name) {
  constexpr std::array<std::string_view, 6> names{"node", "api", "ip", "class", "upstream", "region"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

const DimensionSpec* find_dimension(const Document& document, std::string_view name) {
  for (const DimensionSpec& one : document.dimensions) {
    if (one.options.name == name) return &one;
  }
  return nullptr;
}

bool asks_for_certificates(const Document& document) {
  using Ask = net::TlsServerOptions::ClientCertificate;
  const auto& listeners = document.server.listeners;
  return std::any_of(listeners.begin(), listeners.end(), [](const http::ListenerOptions& one) {
    return one.tls != nullptr && one.tls->options().client_certificate != Ask::none;
  });
}

void validate_sources(const Document& document, Diagnostics& diagnostics) {
  for (const DimensionSpec& one : document.dimensions) {
    const std::string path = "identity." + one.options.name + ".from";
    for (const Source& source : one.options.from) {
      if (source.kind == SourceKind::api_key && document.api_keys.empty()) {
        diagnostics.error(one.at, path, "asks for an API key, but auth.api_keys_file names none");
      }
      if (source.kind == SourceKind::jwt && document.auth.jwt.keys == nullptr) {
        diagnostics.error(one.at, path, "asks for a token's claim, but auth.jwt names no keys");
      }
      if (source.kind == SourceKind::client_certificate && !asks_for_certificates(document)) {
        diagnostics.error(one.at, path, "asks for a client certificate, but no listen.tls has client_ca");
      }
      if (source.kind == SourceKind::region && document.regions.empty()) {
        diagnostics.error(one.at, path, "asks for the region, but there is no table `regions`");
      }
      if (source.trusted_only && document.trusted_proxies.empty()) {
        diagnostics.warning(one.at, path,
                            "trusts proxies only, but trusted_proxies is empty: this source never counts");
      }
    }
  }
}

void validate_key_attributes(const Document& document, Diagnostics& diagnostics) {
  const std::vector<std::string_view> names = dimension_names(document);
  for (const identity::ApiKey& key : document.api_keys) {
    for (const auto& [name, value] : key.attributes) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      diagnostics.error({document.node.at.file, 0, 0}, "auth.api_keys_file",
                        not_one_of("dimension", name, names));
      return;
    }
  }
}

// `missing` is a decision that has to be made wherever somebody's quota hangs on the dimension (spec ID-2).
void require_decision(const Document& document, const LayerSpec& layer, const LocatedText& name,
                      Diagnostics& diagnostics) {
  if (never_missing(name.value)) return;
  const DimensionSpec* const dimension = find_dimension(document, name.value);
  if (dimension == nullptr) {
    diagnostics.error(name.at, layer.path,
                      "counts by " + name.value + ", but weir.yaml says nothing of it; write identity: {" +
                          name.value + ": {from: [...], missing: anonymous | ip | reject}}");
  } else if (!dimension->options.missing) {
    diagnostics.error(dimension->at, "identity." + name.value + ".missing",
                      "is missing, and the layer " + layer.name + " counts by " + name.value +
                          "; write anonymous, ip or reject");
  }
}

void validate_exempt(const Document& document, Diagnostics& diagnostics) {
  if (document.quotas.exempt.callers.empty()) return;
  const DimensionSpec* const caller = find_dimension(document, "caller");
  const bool vouched =
      caller != nullptr &&
      std::any_of(caller->options.from.begin(), caller->options.from.end(), [](const Source& source) {
        return source.trusted_only || source.kind == SourceKind::api_key || source.kind == SourceKind::jwt ||
               source.kind == SourceKind::peer_address;
      });
  if (vouched) return;
  diagnostics.warning(
      caller != nullptr ? caller->at : Position{document.node.at.file, 0, 0}, "limit.exempt.callers",
      "never holds: anyone may claim to be a caller here; use trust: proxies, an api_key or a jwt");
}

// What is required has to be something that can be proved.
void require_means(const Document& document, identity::Credential required, Position at,
                   const std::string& path, Diagnostics& diagnostics) {
  using identity::Credential;
  const bool keys = !document.auth.api_key_header.empty();
  const bool tokens = document.auth.jwt.keys != nullptr;
  if (required == Credential::api_key && !keys) {
    diagnostics.error(at, path, "asks for an API key, but auth.api_keys_file names none");
  } else if (required == Credential::jwt && !tokens) {
    diagnostics.error(at, path, "asks for a token, but auth.jwt names no keys");
  } else if (required == Credential::any && !keys && !tokens) {
    diagnostics.error(at, path, "asks for a credential, but auth has neither api_keys_file nor jwt");
  }
}

void validate_auth(const Document& document, Diagnostics& diagnostics) {
  require_means(document, document.auth.required, document.auth_at, "auth.required", diagnostics);
  for (const RouteSpec& route : document.routes) {
    if (route.auth) require_means(document, *route.auth, route.at, route.path + ".auth", diagnostics);
  }
}

}  // namespace

void validate_identity(const Document& document, Diagnostics& diagnostics) {
  validate_sources(document, diagnostics);
  validate_key_attributes(document, diagnostics);
  validate_auth(document, diagnostics);
  validate_exempt(document, diagnostics);
  const std::vector<std::string_view> names = dimension_names(document);
  std::vector<std::string_view> reported;
  for (const LayerSpec& layer : document.quotas.layers) {
    for (const LocatedText& name : layer.key) {
      if (std::find(names.begin(), names.end(), name.value) == names.end()) {
        diagnostics.error(name.at, name.path, not_one_of("dimension", name.value, names));
        continue;
      }
      if (std::find(reported.begin(), reported.end(), name.value) != reported.end()) continue;
      reported.push_back(name.value);
      require_decision(document, layer, name, diagnostics);
    }
    if (!layer.tiers.empty() && find_dimension(document, "tier") == nullptr) {
      diagnostics.warning(layer.at, layer.path + ".tiers",
                          "no request has a tier; write identity.tier in weir.yaml");
    }
  }
}

}  // namespace weir::config
