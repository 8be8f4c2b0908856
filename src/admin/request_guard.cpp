// SPDX-License-Identifier: Apache-2.0
#include "admin/request_guard.hpp"

#include <openssl/crypto.h>

#include "admin/routes.hpp"
#include "base/hash.hpp"
#include "identity/addresses.hpp"
#include "identity/trim.hpp"
#include "weir/http/message.hpp"

namespace weir::admin {
namespace {

// Without the port and without the brackets of an IPv6 address.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

// Digests are compared, so that neither the place of the first difference nor the length shows in the time.
bool holds_token(std::string_view authorization, const std::string& token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (token.empty()) return true;
  if (!http::iequals(authorization.substr(0, kScheme.size()), kScheme)) return false;
  const std::string given = digest_hex(authorization.substr(kScheme.size()));
  const std::string wanted = digest_hex(token);
  return CRYPTO_memcmp(given.data(), wanted.data(), wanted.size()) == 0;
}

bool is_own_host(std::string_view host) {
  const std::string_view name = name_of(host);
  return host.empty() || http::iequals(name, "localhost") || identity::parse_address(name).has_value();
}

bool is_cross_site(const AdminRequest& request) {
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin") return true;
  if (request.origin.empty()) return false;
  const auto scheme = request.origin.find("://");
  return scheme == std::string_view::npos || !http::iequals(request.origin.substr(scheme + 3), request.host);
}

bool is_json(std::string_view content_type) {
  return http::iequals(identity::trim(content_type.substr(0, content_type.find(';'))), "application/json");
}

}  // namespace weir::admin
