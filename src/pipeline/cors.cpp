// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cors.hpp"

#include <algorithm>

#include "pipeline/rate_limit_fields.hpp"
#include "pipeline/text.hpp"

namespace weir::pipeline {
namespace {

// Appends the origin's own fields; false if that origin is not allowed.
bool append_allowed_origin(std::string& out, std::string_view origin, const CorsOptions& options) {
  const auto allowed = [&](const std::string& entry) { return entry == "*" || entry == origin; };
  if (std::ranges::none_of(options.origins, allowed)) return false;
  out += "Access-Control-Allow-Origin: ";
  out += origin;
  out += "\r\n";
  if (options.credentials) out += "Access-Control-Allow-Credentials: true\r\n";
  return true;
}

void append_joined(std::string& out, const std::vector<std::string>& items) {
  for (std::size_t n = 0; n < items.size(); ++n) {
    if (n != 0) out += ", ";
    out += items[n];
  }
}

}  // namespace

bool is_preflight(const http::RequestHead& head) noexcept {
  return head.method == http::Method::options && head.find("Origin") != nullptr &&
         head.find("Access-Control-Request-Method") != nullptr;
}

void append_preflight_fields(std::string& out, const http::RequestHead& head, const CorsOptions& options) {
  out += "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\r\n";
  const http::Field* origin = head.find("Origin");
  if (origin == nullptr || !append_allowed_origin(out, origin->value, options)) return;
  out += "Access-Control-Allow-Methods: ";
  append_joined(out, options.methods);
  out += "\r\n";
  const http::Field* asked = head.find("Access-Control-Request-Headers");
  if (!options.headers.empty()) {
    out += "Access-Control-Allow-Headers: ";
    append_joined(out, options.headers);
    out += "\r\n";
  } else if (asked != nullptr && !asked->value.empty()) {
    out += "Access-Control-Allow-Headers: ";
    out += asked->value;
    out += "\r\n";
  }
  out += "Access-Control-Max-Age: ";
  append(out, options.max_age_s);
  out += "\r\n";
}

void append_cors_fields(std::string& out, const http::RequestHead& head, const CorsOptions& options) {
  if (!cors_on(options)) return;
  out += "Vary: Origin\r\n";
  const http::Field* origin = head.find("Origin");
  if (origin == nullptr || !append_allowed_origin(out, origin->value, options)) return;
  out += "Access-Control-Expose-Headers: ";
  out += exposed_field_names();
  out += "\r\n";
}

const std::vector<std::string>& cors_field_names() {
  static const std::vector<std::string> names{
      "access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers"};
  return names;
}

}  // namespace weir::pipeline
