// SPDX-License-Identifier: Apache-2.0
// The answers that the gateway makes itself. Their texts live in the request's context until they are sent.
#include "pipeline/cors.hpp"
#include "pipeline/gateway_handler.hpp"
#include "pipeline/rate_limit_fields.hpp"
#include "pipeline/refusal.hpp"
#include "weir/base/append.hpp"

namespace weir::pipeline {
namespace {

std::string_view title_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    default:
      return "Request Refused";
  }
}

void append_request_id_field(RequestContext& context) {
  append(context.response_fields, "X-Request-Id: ", context.request_id, "\r\n");
}

// A gRPC client reads its status from fields, not from the HTTP status: a refusal is a response of trailers
// only.
bool is_grpc(const http::RequestHead& head) {
  const http::Field* type = head.find("Content-Type");
  return type != nullptr && type->value.starts_with("application/grpc");
}

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html: 8 RESOURCE_EXHAUSTED, 7 PERMISSION_DENIED,
// 14 UNAVAILABLE.
std::string_view grpc_status(limit::Outcome outcome) {
  if (outcome == limit::Outcome::blocked) return "7";
  return outcome == limit::Outcome::store_down ? "14" : "8";
}

http::LocalReply problem(const http::Exchange& exchange, RequestContext& context, int status,
                         std::string_view detail) {
  append_cors_fields(context.response_fields, exchange.request(), context.runtime->answers.cors);
  append_request_id_field(context);
  append_problem(context.body, status, title_of(status), detail, context.request_id);
  http::LocalReply reply;
  reply.status = status;
  reply.content_type = kProblemJson;
  reply.field_lines = context.response_fields;
  reply.body = context.body;
  return reply;
}

}  // namespace

http::LocalReply GatewayHandler::preflight_reply(const http::Exchange& exchange, RequestContext& context) {
  append_preflight_fields(context.response_fields, exchange.request(), context.runtime->answers.cors);
  append_request_id_field(context);
  http::LocalReply reply;
  reply.status = 204;
  reply.field_lines = context.response_fields;
  return reply;
}

http::LocalReply GatewayHandler::identity_reply(const http::Exchange& exchange, RequestContext& context) {
  const auto& found = context.extraction;
  if (!found.challenge.empty()) {
    append(context.response_fields, "WWW-Authenticate: ", found.challenge, "\r\n");
  }
  return problem(exchange, context, found.refusal_status, found.refusal_reason);
}

http::LocalReply GatewayHandler::no_route_reply(const http::Exchange& exchange, RequestContext& context) {
  append_rate_limit_fields(context.response_fields, context.charges, context.decision,
                           context.runtime->answers, context.wall_ms);
  return problem(exchange, context, 404, "No route of this gateway matches the path.");
}

http::LocalReply GatewayHandler::refusal_reply(const http::Exchange& exchange, RequestContext& context) {
  const AnswerOptions& options = context.runtime->answers;
  append_rate_limit_fields(context.response_fields, context.charges, context.decision, options,
                           context.wall_ms);
  append_cors_fields(context.response_fields, exchange.request(), options.cors);
  append_request_id_field(context);
  http::LocalReply reply;
  if (is_grpc(exchange.request())) {
    append(context.response_fields, "grpc-status: ", grpc_status(context.decision.outcome),
           "\r\ngrpc-message: quota exceeded\r\n");
    reply.status = 200;
    reply.content_type = "application/grpc";
    reply.field_lines = context.response_fields;
    return reply;
  }
  reply.content_type =
      append_refusal_body(context.body, context.charges, context.decision, options, context.request_id);
  reply.status = refusal_status(context.decision, options);
  reply.field_lines = context.response_fields;
  reply.body = context.body;
  return reply;
}

}  // namespace weir::pipeline
