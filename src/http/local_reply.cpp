// SPDX-License-Identifier: Apache-2.0
#include "http/local_reply.hpp"

#include "http/response_writer.hpp"

namespace weir::http {

std::string problem_body(int status, std::string_view detail) {
  std::string body = "{\"type\":\"about:blank\",\"title\":\"";
  body += reason_phrase(status);
  body += "\",\"status\":";
  body += std::to_string(status);
  if (!detail.empty()) {
    body += ",\"detail\":\"";
    body += detail;
    body += '"';
  }
  body += "}\n";
  return body;
}

}  // namespace weir::http
