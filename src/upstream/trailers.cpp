// SPDX-License-Identifier: Apache-2.0
#include "upstream/trailers.hpp"

#include <algorithm>
#include <array>

#include "weir/http/message.hpp"

namespace weir::upstream {

bool never_a_trailer(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 32> names{"transfer-encoding",
                                                          "content-length",
                                                          "host",
                                                          "connection",
                                                          "trailer",
                                                          "te",
                                                          "upgrade",
                                                          "keep-alive",
                                                          "proxy-connection",
                                                          "authorization",
                                                          "cookie",
                                                          "set-cookie",
                                                          "expect",
                                                          "max-forwards",
                                                          "range",
                                                          "content-range",
                                                          "content-encoding",
                                                          "content-type",
                                                          "cache-control",
                                                          "age",
                                                          "date",
                                                          "expires",
                                                          "location",
                                                          "retry-after",
                                                          "vary",
                                                          "pragma",
                                                          "via",
                                                          "forwarded",
                                                          "www-authenticate",
                                                          "proxy-authenticate",
                                                          "proxy-authorization",
                                                          "x-request-id"};
  return name.starts_with("x-forwarded-") || name.starts_with("if-") ||
         std::find(names.begin(), names.end(), name) != names.end();
}

void append_trailers(std::string& out, std::string_view section, const std::vector<std::string>& allowed) {
  while (!section.empty()) {
    const std::size_t end = std::min(section.find("\r\n"), section.size());
    const std::string_view line = section.substr(0, end);
    section.remove_prefix(std::min(end + 2, section.size()));
    const std::string_view name = line.substr(0, line.find(':'));
    const bool listed = std::any_of(allowed.begin(), allowed.end(),
                                    [name](const std::string& one) { return http::iequals(one, name); });
    if (!listed) continue;
    out += line;
    out += "\r\n";
  }
}

}  // namespace weir::upstream
