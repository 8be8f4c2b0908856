// SPDX-License-Identifier: Apache-2.0
#include "admin/routes.hpp"

#include <openssl/crypto.h>

#include <array>
#include <exception>

#include "admin/probe_query.hpp"
#include "base/hash.hpp"
#include "telemetry/exposition.hpp"
#include "telemetry/log.hpp"
#include "weir/http/message.hpp"

namespace weir::admin {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kPlain = "text/plain; charset=utf-8";

constexpr std::string_view kIndex =
    "weir admin\n\n"
    "GET /metrics   Prometheus\n"
    "GET /livez     200 while the process runs\n"
    "GET /readyz    200 while it takes traffic, else 503\n"
    "GET /status    version, node, configuration, store, workers (JSON)\n"
    "GET /config    effective configuration, secrets replaced (JSON)\n"
    "GET /top       who sends most, who is refused most: callers, users, APIs (JSON)\n"
    "GET /explain?method=GET&path=/x&header=X-Caller-Id:%20a&from=1.2.3.4\n"
    "               which limits a request meets, and how full they are (JSON)\n";

enum class Guard { open, token };

struct Route {
  std::string_view path;
  Guard guard;
  AdminReply (*reply)(std::string_view query, const AdminSource& source);
};

AdminReply index(std::string_view, const AdminSource&) {
  return {200, kPlain, std::string(kIndex)};
}

AdminReply metrics(std::string_view, const AdminSource& source) {
  return {200, telemetry::kExpositionType, source.metrics()};
}

AdminReply livez(std::string_view, const AdminSource&) {
  return {200, kPlain, "ok\n"};
}

AdminReply readyz(std::string_view, const AdminSource& source) {
  if (source.ready()) return {200, kPlain, "ok\n"};
  return {503, kPlain, "not ready\n"};
}

AdminReply status(std::string_view, const AdminSource& source) {
  return {200, kJson, source.status()};
}

AdminReply config(std::string_view, const AdminSource& source) {
  return {200, kJson, source.config()};
}

AdminReply top(std::string_view, const AdminSource& source) {
  if (!source.top) return {404, kPlain, "no rankings are kept\n"};
  return {200, kJson, source.top()};
}

AdminReply explain(std::string_view query, const AdminSource& source) {
  std::string why;
  auto probe = parse_probe(query, why);
  if (!probe) return {400, kPlain, why + '\n'};
  return {200, kJson, source.explain(std::move(*probe))};
}

constexpr std::array<Route, 8> kRoutes{{{"/", Guard::token, index},
                                        {"/metrics", Guard::token, metrics},
                                        {"/livez", Guard::open, livez},
                                        {"/readyz", Guard::open, readyz},
                                        {"/status", Guard::token, status},
                                        {"/config", Guard::token, config},
                                        {"/top", Guard::token, top},
                                        {"/explain", Guard::token, explain}}};

// Digests are compared, so that neither the place of the first difference nor the length shows in the time.
bool holds_token(std::string_view authorization, const std::string& token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (token.empty()) return true;
  if (!http::iequals(authorization.substr(0, kScheme.size()), kScheme)) return false;
  const std::string given = digest_hex(authorization.substr(kScheme.size()));
  const std::string wanted = digest_hex(token);
  return CRYPTO_memcmp(given.data(), wanted.data(), wanted.size()) == 0;
}

AdminReply route(const AdminRequest& request, const std::string& token, const AdminSource& source) {
  const auto question = request.target.find('?');
  const std::string_view path = request.target.substr(0, question);
  const std::string_view query =
      question == path.npos ? std::string_view() : request.target.substr(question + 1);
  const bool allowed = holds_token(request.authorization, token);
  for (const Route& each : kRoutes) {
    if (each.path != path) continue;
    if (each.guard == Guard::token && !allowed) break;
    if (request.method != "GET" && request.method != "HEAD") return {405, kPlain, "only GET and HEAD\n"};
    return each.reply(query, source);
  }
  // Without the token, what exists and what does not look alike.
  if (!allowed) return {401, kPlain, "a bearer token is needed\n"};
  return {404, kPlain, "no such endpoint; GET / lists them\n"};
}

}  // namespace

AdminReply answer(const AdminRequest& request, const std::string& token, const AdminSource& source) noexcept {
  try {
    return route(request, token, source);
  } catch (const std::exception& error) {
    telemetry::log_limited(telemetry::LogLevel::error, "admin.failed", error.what());
  } catch (...) {
    telemetry::log_limited(telemetry::LogLevel::error, "admin.failed", "unknown exception");
  }
  AdminReply failed;
  failed.status = 500;
  return failed;
}

}  // namespace weir::admin
