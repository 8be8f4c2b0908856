// SPDX-License-Identifier: Apache-2.0
// The admin port's answers, apart from sockets.
//
//   GET /          the status page for browsers, GET /help for all others; its parts are below /page/
//   GET /help      the endpoints, as plain text
//   GET /livez     200 while the process runs         GET /readyz    200 while it takes traffic, else 503
//   GET /metrics   Prometheus
//   GET /status    JSON                               GET /config    JSON, secrets replaced
//   GET /top       JSON: who sends most and who is refused most, this minute and the last
//   GET /live?since=0     JSON: what the page shows
//   GET /explain?method=GET&path=/x&header=X-Caller-Id:%20a&from=1.2.3.4      JSON; header may be repeated
//   GET /counters?layer=user&key=caller:a&key=user:b&lane=exempt    JSON: one counter, and how to confirm
//   POST /counters/reset   JSON: the same members and `confirm`; the counter begins anew, and a log line says
//   so
//
// HEAD works as GET; other methods are 405. With a token configured, everything but the two probes and the
// page's own files (which hold no data) wants "Authorization: Bearer <token>". Without one, a Host that is
// neither an address nor localhost is 421, unless TLS has proved the name. What changes state wants
// application/json of at most kMaxBody octets and is refused when a browser says that another site's page
// sends it.
#pragma once

#include <string>
#include <string_view>

#include "admin/admin_source.hpp"

namespace weir::admin {

inline constexpr std::size_t kMaxBody = 8 * 1024;

// Values of fields are "" where absent.
struct AdminRequest {
  std::string_view method = {};
  std::string_view target = {};  // as received
  std::string_view authorization = {};
  std::string_view host = {};
  std::string_view accept = {};
  std::string_view origin = {};
  std::string_view fetch_site = {};  // Sec-Fetch-Site
  std::string_view content_type = {};
  std::string_view body = {};
  std::string_view peer = {};  // "127.0.0.1:4711", and the subject of a certificate that it showed
  bool over_tls = false;
};

struct AdminReply {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string_view allow = {};  // of a 405
};

// `token`: "" lets everyone in. Never throws.
AdminReply answer(const AdminRequest& request, const std::string& token, const AdminSource& source) noexcept;

}  // namespace weir::admin
