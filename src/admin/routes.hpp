// SPDX-License-Identifier: Apache-2.0
// The admin port's answers, apart from sockets.
//
//   GET /          the endpoints, as plain text       GET /metrics   Prometheus
//   GET /livez     200 while the process runs         GET /readyz    200 while it takes traffic, else 503
//   GET /status    JSON                               GET /config    JSON, secrets replaced
//   GET /top       JSON: who sends most and who is refused most, this minute and the last
//   GET /explain?method=GET&path=/x&header=X-Caller-Id:%20a&from=1.2.3.4      JSON; header may be repeated
//
// HEAD works as GET; other methods are 405. With a token configured, everything but the two probes wants
// "Authorization: Bearer <token>". Nothing here changes any state.
#pragma once

#include <string>
#include <string_view>

#include "admin/admin_source.hpp"

namespace weir::admin {

struct AdminRequest {
  std::string_view method;
  std::string_view target;         // as received
  std::string_view authorization;  // value of the field, "" if absent
};

struct AdminReply {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string body;
};

// `token`: "" lets everyone in. Compared in constant time. Never throws.
AdminReply answer(const AdminRequest& request, const std::string& token, const AdminSource& source) noexcept;

}  // namespace weir::admin
