// SPDX-License-Identifier: Apache-2.0
// What the two files say, as plain data: the options of every part, and the quotas before inheritance is
// resolved. Filled by parse_*.cpp, judged by validate*.cpp, turned into a Runtime by compile*.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/node.hpp"
#include "config/scalars.hpp"
#include "pipeline/runtime.hpp"
#include "weir/identity/options.hpp"
#include "weir/limit/decision.hpp"
#include "weir/limit/policy.hpp"

namespace weir::config {

template <class T>
struct Located {
  T value{};
  Position at;
  std::string path;
};
using LocatedText = Located<std::string>;

// The terms a layer, a limit or an override may state. What is not stated inherits from the layer, then from
// the layer's defaults.
struct Settings {
  std::optional<Window> window;
  std::optional<std::int64_t> burst;
  std::optional<limit::AlgorithmKind> algorithm;
  std::optional<std::int64_t> cells;
  std::optional<std::int64_t> max_wait_ms;
  std::optional<double> warn_at;
  std::optional<limit::Enforcement> mode;
  std::optional<int> enforce_percent;
  std::optional<limit::OnExceed> on_exceed;
  std::optional<std::int64_t> max_delay_ms;
  std::optional<limit::FailureMode> brief;
  std::optional<limit::FailureMode> lasting;  // `long`
};

// One limit as written: a word, a number, a share of the capacity or a rate; or a section of all that.
struct LimitSpec {
  Position at;
  std::string path;  // "limit.user.default"
  limit::Access access = limit::Access::limited;
  std::optional<std::int64_t> limit;    // none: inherits the layer's default
  std::optional<int> capacity_percent;  // `60%`
  Settings settings;
  std::optional<std::int64_t> from_ms;
  std::optional<std::int64_t> until_ms;
};

struct KeyedLimit {
  std::string value;
  LimitSpec limit;
};

struct OverrideSpec {
  std::string value;
  LimitSpec limit;
  // False if the section holds nothing but `user` and `api`: the layer's own limit stays untouched.
  bool has_own_limit = true;
  // caller only:
  std::optional<LimitSpec> user_default;
  std::vector<KeyedLimit> user_overrides;
  std::vector<KeyedLimit> api_limits;
};

struct LayerSpec {
  std::string name;
  Position at;
  std::string path;  // "limit.user"
  std::vector<LocatedText> key;
  std::optional<LocatedText> before;
  Settings settings;
  bool hashed_offset = true;
  Located<limit::Scope> scope;
  std::optional<Located<std::int64_t>> capacity;
  std::optional<LocatedText> time_zone;
  std::optional<LimitSpec> fallback;  // `default`, or `total` of node
  std::optional<LimitSpec> anonymous;
  std::vector<KeyedLimit> tiers;
  std::vector<OverrideSpec> overrides;
  std::vector<LocatedText> priority;                                // api only
  std::vector<Located<std::pair<std::string, std::int64_t>>> cost;  // api only
};

struct QuotaSpec {
  Position at;                    // of `limit`
  std::vector<LayerSpec> layers;  // in the order written
  limit::Accounting accounting = limit::Accounting::all_or_none;
  identity::ExemptOptions exempt;
  std::vector<LocatedText> exempt_paths;
  std::int64_t exempt_factor = 10;
  pipeline::CostOptions cost;  // by_api is filled by the compiler
};

struct RouteSpec {
  pipeline::Route route;
  identity::PathPattern pattern;
  Position at;
  std::string path;
  Position upstream_at;
  std::optional<identity::Credential> auth;  // none: as everywhere
};

struct ClassSpec {
  identity::ApiClass options;
  Position at;
  std::vector<LocatedText> patterns;
};

struct DimensionSpec {
  identity::DimensionOptions options;
  Position at;
};

struct Document {
  std::string weir_file;
  LocatedText node{"weir", {}, "node"};
  std::size_t workers = 0;
  std::vector<Located<pipeline::Listener>> listeners;
  Located<pipeline::Listener> admin{{"127.0.0.1", 9901}, {}, "admin.address"};
  std::string admin_token;
  std::shared_ptr<const net::TlsServerContext> admin_tls;  // null: plain HTTP
  std::vector<Located<identity::Cidr>> trusted_proxies;
  int ipv4_prefix = 32;
  int ipv6_prefix = 64;
  identity::PathOptions paths;
  std::vector<DimensionSpec> dimensions;  // declared under `identity`
  std::vector<ClassSpec> classes;
  std::vector<identity::RegionEntry> regions;
  std::vector<identity::ApiKey> api_keys;
  identity::AuthOptions auth;  // without by_path, which the compiler adds
  Position auth_at;            // of auth.required, if it is written
  bool forward_credentials = true;
  std::vector<upstream::ClusterOptions> clusters;
  std::map<std::string, Position> cluster_positions;
  std::vector<RouteSpec> routes;
  store::StoreOptions store;
  Position store_at;
  std::string quotas_file;
  pipeline::QuotaOrigin quota_origin;
  http::ServerOptions server;
  std::int64_t drain_ms = 30000;
  pipeline::AnswerOptions answers;
  pipeline::LogOptions log;
  QuotaSpec quotas;
};

}  // namespace weir::config
