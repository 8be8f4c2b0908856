// SPDX-License-Identifier: Apache-2.0
// The compiled configuration in force: immutable, swapped whole. A request takes one shared_ptr at its start
// and sees one configuration to its end. config/compile.cpp fills it; nobody changes it afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.hpp"
#include "identity/extractor.hpp"
#include "identity/path_table.hpp"
#include "weir/http/field_names.hpp"
#include "weir/http/options.hpp"
#include "weir/limit/limiter_chain.hpp"
#include "weir/store/options.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::pipeline {

enum class Criticality : std::uint8_t { core, auxiliary, optional };

struct Route {
  std::string pattern;      // as written, "POST /order/pay"
  std::string upstream;     // cluster name
  std::size_t cluster = 0;  // index into Runtime::clusters
  Criticality criticality = Criticality::auxiliary;
};

enum class LegacyReset : std::uint8_t { off, epoch, delta };
enum class UpstreamFields : std::uint8_t { pass, strip, merge };

struct CorsOptions {
  std::vector<std::string> origins;  // exact, or "*"; empty: CORS is off and preflights are ordinary requests
  std::vector<std::string> methods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  std::vector<std::string> headers;  // empty: what the preflight asks for
  std::int64_t max_age_s = 600;
  bool credentials = false;
  bool pass_preflight = false;  // let the upstream answer preflights (still without charge)
};

struct AnswerOptions {
  bool ietf = true;                         // RateLimit, RateLimit-Policy
  LegacyReset legacy = LegacyReset::epoch;  // X-RateLimit-*
  UpstreamFields upstream_fields = UpstreamFields::pass;
  bool retry_after = true;
  int status = 429;  // of a quota refusal; 4xx
  // Body template of a quota refusal; empty: RFC 9457 problem+json. Placeholders: {status} {layer} {layers}
  // {retry_after} {limit} {request_id}; every value is JSON-escaped.
  std::string body_template;
  std::string body_content_type = "application/json";
  CorsOptions cors;
};

struct CostOptions {
  StringMap<std::int64_t> by_api;   // api value -> permits
  std::string request_header;       // a trusted proxy may set the cost; empty: off
  std::int64_t max_cost = 1000000;  // of a header's value
  // After the response the true cost is settled against the same layers.
  std::string settle_response_header;         // lower case; empty: off
  std::uint64_t settle_bytes_per_permit = 0;  // 0: off
};

struct LogOptions {
  std::string level = "info";
  std::string access = "stdout";  // stdout, stderr, off, or a file path
  std::string denials = "stdout";
  double denial_sample = 0;  // 0 = auto: sampled under attack, each line with its weight
};

enum class QuotaSource : std::uint8_t { file, copy, store };

constexpr std::string_view name_of(QuotaSource source) noexcept {
  constexpr std::string_view names[] = {"file", "copy", "store"};
  return names[static_cast<std::size_t>(source)];
}

// Where quotas come from, and which are in force.
struct QuotaOrigin {
  bool from_store = false;                // what `weir push` publishes, the file only before anything was
  std::string copy;                       // a file that keeps the last good ones from the store; empty: none
  std::chrono::milliseconds every{3000};  // between two looks at the store
  // Of those in force:
  QuotaSource source = QuotaSource::file;
  std::string version;              // a hash of their text; pushed: `sequence-hash`
  std::int64_t pushed_wall_ms = 0;  // by the store's clock; 0: they were not pushed
};

struct Listener {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Listener&) const = default;
};

struct Runtime {
  Runtime(identity::Extractor extractor_, limit::LimiterChain chain_, identity::PathTable routes_)
      : extractor(std::move(extractor_)), chain(std::move(chain_)), route_table(std::move(routes_)) {}

  std::uint64_t generation = 0;  // counts successful loads
  std::int64_t loaded_wall_ms = 0;
  std::string version;                // short hash of the files' bytes
  std::vector<std::string> warnings;  // what `weir check` would warn of
  // How many certificates are still those of an earlier load, since their files hold ones that are not valid.
  std::size_t kept_certificates = 0;
  std::string printable;  // effective configuration as JSON, secrets replaced; GET /config

  std::string quotas_file;  // "": none
  QuotaOrigin quotas;
  std::string node;
  identity::Extractor extractor;
  limit::LimiterChain chain;
  identity::PathTable route_table;  // pattern -> index into routes
  std::vector<Route> routes;
  std::vector<upstream::ClusterOptions> clusters;
  http::ServerOptions server;
  AnswerOptions answers;
  CostOptions cost;
  LogOptions log;
  store::StoreOptions store;
  bool forward_normal_path = false;
  std::vector<std::string> named_callers;  // those with an override: told apart in metrics
  // Lower-case field names taken out on the way through: asserted identity (ID-5) and the forwarded family of
  // peers that are not trusted proxies; rate-limit and CORS fields of upstream answers where the settings say
  // so.
  http::FieldNames removed_from_trusted;
  http::FieldNames removed_from_others;
  http::FieldNames removed_from_responses;
  std::int64_t drain_ms = 30000;

  // Need a restart to change:
  std::vector<Listener> listeners;
  Listener admin;
  std::string admin_token;  // empty: none needed (loopback)
  // Null: plain HTTP. Its certificates change with a reload; whether it is there, and whom it asks for a
  // certificate, does not.
  std::shared_ptr<const net::TlsServerContext> admin_tls;
  std::size_t workers = 0;  // 0: one per core
};

}  // namespace weir::pipeline
