// SPDX-License-Identifier: Apache-2.0
#include "admin/routes.hpp"

#include <array>
#include <charconv>
#include <exception>

#include "admin/form_query.hpp"
#include "admin/page_assets.hpp"
#include "admin/probe_query.hpp"
#include "admin/request_guard.hpp"
#include "telemetry/exposition.hpp"
#include "telemetry/log.hpp"

namespace weir::admin {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kPlain = "text/plain; charset=utf-8";

constexpr std::string_view kHelp =
    "weir admin; a browser gets the status page at /\n\n"
    "GET /metrics   Prometheus\n"
    "GET /livez     200 while the process runs\n"
    "GET /readyz    200 while it takes traffic, else 503 and why\n"
    "GET /status    version, node, configuration, store, workers (JSON)\n"
    "GET /config    effective configuration, secrets replaced (JSON)\n"
    "GET /limits    of each layer: where it is counted, how at the moment, and by how much\n"
    "               its limit may be exceeded at worst, now and if the store fails (JSON)\n"
    "GET /top       who sends most, who is refused most: callers, users, APIs (JSON)\n"
    "GET /live?since=0\n"
    "               what the status page shows; traffic newer than the point `since` (JSON)\n"
    "GET /explain?method=GET&path=/x&header=X-Caller-Id:%20a&from=1.2.3.4\n"
    "               which limits a request meets, and how full they are (JSON)\n"
    "GET /counters?layer=user&key=caller:acme&key=user:bob\n"
    "               one counter; key=user alone is that of requests without a user; lane=exempt (JSON)\n"
    "POST /counters/reset   "
    "{\"layer\":\"user\",\"key\":{\"caller\":\"acme\",\"user\":\"bob\"},\"confirm\":\"...\"}\n"
    "               makes it a fresh one; `confirm` is in the answer of the GET (JSON)\n";

enum class Guard { open, token };

struct Asked {
  const AdminRequest& request;
  std::string_view query;
  const AdminSource& source;
};

struct Route {
  std::string_view method;
  std::string_view path;
  Guard guard;
  AdminReply (*reply)(const Asked& asked);
};

AdminReply plain(int status, std::string_view text) {
  return {status, kPlain, std::string(text), {}};
}

AdminReply json(std::string document) {
  return {200, kJson, std::move(document), {}};
}

AdminReply help(const Asked&) {
  return plain(200, kHelp);
}

AdminReply metrics(const Asked& asked) {
  return {200, telemetry::kExpositionType, asked.source.metrics(), {}};
}

AdminReply livez(const Asked&) {
  return plain(200, "ok\n");
}

AdminReply readyz(const Asked& asked) {
  const std::string why = asked.source.not_ready();
  return why.empty() ? plain(200, "ok\n") : plain(503, "not ready: " + why + '\n');
}

AdminReply status(const Asked& asked) {
  return json(asked.source.status());
}

AdminReply config(const Asked& asked) {
  return json(asked.source.config());
}

AdminReply limits(const Asked& asked) {
  if (!asked.source.limits) return plain(404, "no limits are shown\n");
  return json(asked.source.limits());
}

AdminReply top(const Asked& asked) {
  if (!asked.source.top) return plain(404, "no rankings are kept\n");
  return json(asked.source.top());
}

AdminReply live(const Asked& asked) {
  if (!asked.source.live) return plain(404, "no history is kept\n");
  std::uint64_t since = 0;
  const std::string why = each_parameter(asked.query, [&since](std::string_view name, std::string value) {
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, since);
    const bool good = name == "since" && read.ec == std::errc() && read.ptr == end;
    return std::string(good ? "" : "the only parameter is since, a whole number");
  });
  if (!why.empty()) return plain(400, why + '\n');
  return json(asked.source.live(since));
}

AdminReply explain(const Asked& asked) {
  std::string why;
  auto probe = parse_probe(asked.query, why);
  if (!probe) return plain(400, why + '\n');
  return json(asked.source.explain(std::move(*probe)));
}

AdminReply of(SourceAnswer answer) {
  return {answer.status, kJson, std::move(answer.json), {}};
}

AdminReply counters(const Asked& asked) {
  if (!asked.source.read_counter) return plain(404, "no counters are shown\n");
  std::string why;
  const auto request = parse_counter_query(asked.query, why);
  if (!request) return plain(400, why + '\n');
  return of(asked.source.read_counter(*request));
}

AdminReply reset(const Asked& asked) {
  if (!asked.source.reset_counter) return plain(404, "no counters are reset\n");
  if (is_cross_site(asked.request)) return plain(403, "another site's page may not ask for this\n");
  if (!is_json(asked.request.content_type)) return plain(415, "Content-Type must be application/json\n");
  std::string why;
  const auto request = parse_counter_body(asked.request.body, why);
  if (!request) return plain(400, why + '\n');
  return of(asked.source.reset_counter(*request, asked.request.peer));
}

constexpr std::array<Route, 13> kRoutes{{{"GET", "/", Guard::token, help},
                                         {"GET", "/help", Guard::token, help},
                                         {"GET", "/metrics", Guard::token, metrics},
                                         {"GET", "/livez", Guard::open, livez},
                                         {"GET", "/readyz", Guard::open, readyz},
                                         {"GET", "/status", Guard::token, status},
                                         {"GET", "/config", Guard::token, config},
                                         {"GET", "/limits", Guard::token, limits},
                                         {"GET", "/top", Guard::token, top},
                                         {"GET", "/live", Guard::token, live},
                                         {"GET", "/explain", Guard::token, explain},
                                         {"GET", "/counters", Guard::token, counters},
                                         {"POST", "/counters/reset", Guard::token, reset}}};

bool is_get(std::string_view method) {
  return method == "GET" || method == "HEAD";
}

AdminReply not_allowed(std::string_view wanted) {
  const bool get = wanted == "GET";
  return {405, kPlain, get ? "only GET and HEAD\n" : "only POST\n", get ? "GET, HEAD" : "POST"};
}

// The page's own files, and the page itself for those who can show it.
const PageAsset* asset_of(const AdminRequest& request, std::string_view path) {
  const bool shows = request.accept.find("text/html") != std::string_view::npos;
  const std::string_view wanted = path == "/" && shows ? "/page/index.html" : path;
  for (const PageAsset& asset : page_assets()) {
    if (asset.path == wanted) return &asset;
  }
  return nullptr;
}

AdminReply route(const AdminRequest& request, const std::string& token, const AdminSource& source) {
  const auto question = request.target.find('?');
  const std::string_view path = request.target.substr(0, question);
  const std::string_view query =
      question == path.npos ? std::string_view() : request.target.substr(question + 1);
  const bool allowed = holds_token(request.authorization, token);
  const bool misled = token.empty() && !request.over_tls && !is_own_host(request.host);
  for (const Route& each : kRoutes) {
    if (each.path != path || each.guard != Guard::open) continue;
    if (!is_get(request.method)) return not_allowed(each.method);
    return each.reply({request, query, source});
  }
  if (misled) return plain(421, "ask for this by address, or as localhost\n");
  if (const PageAsset* asset = asset_of(request, path)) {
    if (!is_get(request.method)) return not_allowed("GET");
    return {200, asset->content_type, std::string(asset->content), {}};
  }
  // Without the token, what exists and what does not look alike.
  if (!allowed) return plain(401, "a bearer token is needed\n");
  for (const Route& each : kRoutes) {
    if (each.path != path) continue;
    const bool right = each.method == "GET" ? is_get(request.method) : each.method == request.method;
    return right ? each.reply({request, query, source}) : not_allowed(each.method);
  }
  return plain(404, "no such endpoint; GET /help lists them\n");
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
