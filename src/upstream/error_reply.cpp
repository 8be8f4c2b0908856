// SPDX-License-Identifier: Apache-2.0
#include "upstream/error_reply.hpp"

#include "http/local_reply.hpp"
#include "weir/http/error.hpp"

namespace weir::upstream {
namespace {

struct Meaning {
  int status;
  std::string_view proxy_status;  // error types of RFC 9209 2.3
  std::string_view detail;
};

Meaning meaning_of(ForwardError error, const error_code& body_error) noexcept {
  switch (error) {
    case ForwardError::no_endpoint:
      return {503, "destination_unavailable", "no backend is available"};
    case ForwardError::connect_failed:
      return {502, "connection_refused", "the backend could not be reached"};
    case ForwardError::connect_timeout:
      return {504, "connection_timeout", "the backend did not accept in time"};
    case ForwardError::response_timeout:
      return {504, "http_response_timeout", "the backend did not answer in time"};
    case ForwardError::bad_response:
      return {502, "http_protocol_error", "the backend's answer was malformed"};
    case ForwardError::reset:
      return {502, "http_response_incomplete", "the backend closed the connection"};
    case ForwardError::body_refused:
      return {http::status_of_body_error(body_error), "http_request_error", "the request body was refused"};
    case ForwardError::tls_failed:
      return {502, "tls_protocol_error", "the backend could not be reached safely"};
    case ForwardError::queue_full:
      return {503, "connection_limit_reached", "the backend takes no more requests at a time"};
    case ForwardError::queue_timeout:
      return {503, "connection_limit_reached", "the backend was busy for too long"};
    case ForwardError::unwanted_status:
      return {502, "http_response_incomplete", "the backend failed"};
    case ForwardError::none:
    case ForwardError::client_gone:
      break;
  }
  return {0, "", ""};
}

}  // namespace

ErrorReply::ErrorReply(ForwardError error, const error_code& body_error, std::string_view more_fields) {
  const Meaning meaning = meaning_of(error, body_error);
  status = meaning.status;
  close = error == ForwardError::body_refused;
  field_lines = "Proxy-Status: weir; error=";
  field_lines += meaning.proxy_status;
  field_lines += "\r\n";
  const bool busy = error == ForwardError::queue_full || error == ForwardError::queue_timeout;
  if (busy) field_lines += "Retry-After: 1\r\n";
  field_lines += more_fields;
  body = http::problem_body(status, meaning.detail);
}

http::LocalReply ErrorReply::local_reply() const noexcept {
  http::LocalReply reply;
  reply.status = status;
  reply.content_type = http::kProblemType;
  reply.field_lines = field_lines;
  reply.body = body;
  reply.close = close;
  return reply;
}

}  // namespace weir::upstream
