// SPDX-License-Identifier: Apache-2.0
// `upstreams` and `routes`: where requests go.
#include <algorithm>

#include "config/parse.hpp"
#include "upstream/trailers.hpp"

namespace weir::config {

namespace {

using upstream::ClusterOptions;

constexpr std::string_view kNone[] = {"none"};
constexpr Milliseconds kShortest{1};
constexpr Milliseconds kLongest = std::chrono::hours(24);

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kUnixPathBytes = 107;  // what the kernel takes

std::optional<upstream::EndpointOptions> parse_endpoint_address(const std::string& text, std::string& why) {
  if (text.starts_with(kUnix)) {
    const std::string_view path = std::string_view(text).substr(kUnix.size());
    why = "is no path of a socket; write one such as unix:/run/app.sock, of at most 107 bytes";
    if (!path.starts_with('/') || path.size() > kUnixPathBytes) return {};
    return upstream::EndpointOptions{text, 0, 1};
  }
  const std::optional<HostPort> endpoint = parse_host_port(text, why);
  if (!endpoint) return {};
  return upstream::EndpointOptions{endpoint->host, endpoint->port, 1};
}

// "host:port", or {address, weight}.
void parse_endpoint(const Node& node, Section& section, ClusterOptions& cluster) {
  std::string text = node.text;
  std::int64_t weight = 1;
  if (node.kind == Node::Kind::map) {
    Section item(node, section.path_of("endpoints"), section.context());
    if (!item.text("address", text)) item.error("address", "is missing; write one such as 127.0.0.1:9000");
    item.count("weight", weight, {1, 1000});
    item.finish();
    if (text.empty()) return;
  } else if (node.kind != Node::Kind::scalar) {
    section.context().error(node, section.path_of("endpoints"),
                            std::string("an item is ") + kind_name(node.kind) +
                                "; write host:port or {address: host:port, weight: 2}");
    return;
  }
  std::string why;
  auto endpoint = parse_endpoint_address(text, why);
  if (!endpoint) {
    section.context().error(node, section.path_of("endpoints"), "`" + text + "` " + why);
    return;
  }
  endpoint->weight = static_cast<int>(weight);
  const bool twice = std::any_of(cluster.endpoints.begin(), cluster.endpoints.end(), [&](const auto& one) {
    return one.host == endpoint->host && one.port == endpoint->port;
  });
  if (twice) section.context().error(node, section.path_of("endpoints"), "`" + text + "` stands there twice");
  cluster.endpoints.push_back(*endpoint);
}

void parse_endpoints(Section& section, ClusterOptions& cluster) {
  const Node* const list = section.find("endpoints");
  if (list == nullptr) {
    if (section.find_maybe_empty("endpoints") == nullptr) {
      section.error("endpoints", "is missing; write a list such as [127.0.0.1:9000]");
    }
    return;
  }
  if (list->kind != Node::Kind::sequence) {
    section.error("endpoints", std::string("is ") + kind_name(list->kind) + ", a list is needed");
    return;
  }
  if (list->items.empty()) {
    section.error("endpoints", "is empty; list at least one such as 127.0.0.1:9000");
  }
  for (const Node& item : list->items) parse_endpoint(item, section, cluster);
}

// The key of `hash`: a dimension, `path`, or {header: NAME} or {cookie: NAME}.
void parse_hash_key(Section& balance, upstream::HashOptions& hash) {
  using upstream::HashSource;
  const Node* const node = balance.find("hash");
  if (node == nullptr) {
    balance.error("hash",
                  "is missing; write a dimension such as caller, or path, {header: X} or {cookie: C}");
    return;
  }
  if (node->kind == Node::Kind::scalar) {
    hash.source = node->text == "path" ? HashSource::path : HashSource::dimension;
    hash.name = node->text;
    return;
  }
  Section source(*node, balance.path_of("hash"), balance.context());
  if (source.text("header", hash.name)) {
    hash.source = HashSource::header;
  } else if (source.text("cookie", hash.name)) {
    hash.source = HashSource::cookie;
  } else {
    balance.error("hash", "needs a dimension such as caller, or path, {header: X} or {cookie: C}");
  }
  if (!hash.name.empty() && !is_token(hash.name)) balance.error("hash", "`" + hash.name + "` is no name");
  source.finish();
}

void parse_balance(Section& section, ClusterOptions& cluster) {
  using upstream::Balance;
  const Node* const node = section.find("balance");
  if (node != nullptr && node->kind == Node::Kind::map) {
    Section balance(*node, section.path_of("balance"), section.context());
    cluster.balance = Balance::hash;
    parse_hash_key(balance, cluster.hash);
    parse_percent_of(balance, "bound", cluster.hash.bound_percent, {100, 1000});
    balance.finish();
    return;
  }
  static constexpr Word<Balance> balances[] = {{"least_request", Balance::least_request},
                                               {"round_robin", Balance::round_robin}};
  section.word("balance", cluster.balance, balances);
}

void parse_upstream_timeouts(Section& section, ClusterOptions& cluster) {
  const Node* const node = section.find("timeout");
  if (node == nullptr) return;
  Section timeout(*node, section.path_of("timeout"), section.context());
  timeout.duration("connect", cluster.connect_timeout, {kShortest, kLongest});
  timeout.duration_or_none("response", cluster.response_timeout, {kShortest, kLongest});
  timeout.duration_or_none("idle", cluster.idle_timeout, {kShortest, kLongest});
  if (timeout.duration_or_none("total", cluster.total_timeout, {kShortest, kLongest})) {
    cluster.core_total_timeout = cluster.total_timeout;
  }
  timeout.finish();
}

// Protocol names are tokens; h2c would be HTTP/2 that nobody limits.
void parse_upgrades(Section& section, ClusterOptions& cluster) {
  std::vector<std::string> protocols;
  if (!section.texts("upgrades", protocols)) return;
  for (std::string& protocol : protocols) {
    std::transform(protocol.begin(), protocol.end(), protocol.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (protocol == "h2c" || !is_name(protocol)) {
      section.error("upgrades",
                    "`" + protocol + "` is not a protocol to switch to; write one such as websocket");
    }
  }
  cluster.upgrades = std::move(protocols);
}

void parse_trailers(Section& section, ClusterOptions& cluster) {
  std::vector<std::string> names;
  if (!section.texts("trailers", names)) return;
  for (std::string& name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (!is_token(name))
      section.error("trailers", "`" + name + "` is not a name that HTTP allows for a field");
    if (upstream::never_a_trailer(name)) {
      section.error("trailers", "`" + name + "` must not come as a trailer: it frames, routes or proves");
    }
  }
  cluster.trailers = std::move(names);
}

void parse_upstream(const Entry& entry, Document& document, Context& context) {
  ClusterOptions cluster;
  cluster.name = entry.key;
  Section section(entry.value, "upstreams." + entry.key, context);
  if (!is_name(entry.key)) {
    context.diagnostics.error(entry.at, section.path(), "is not a name; use letters, digits, _ and -");
  }
  parse_endpoints(section, cluster);
  parse_balance(section, cluster);
  parse_upstream_timeouts(section, cluster);
  section.duration("keep_alive", cluster.keep_alive, {kShortest, kLongest});
  std::int64_t idle = 0;
  if (section.count("idle_connections", idle, {0, 100'000})) {
    cluster.idle_connections = static_cast<std::size_t>(idle);
  }
  std::int64_t requests = 0;
  if (section.count("requests_per_connection", requests, {0, 1'000'000'000})) {
    cluster.requests_per_connection = static_cast<std::size_t>(requests);
  }
  section.duration_or_none("drain", cluster.drain, {kShortest, kLongest});
  parse_upgrades(section, cluster);
  parse_trailers(section, cluster);
  section.not_supported("breaker", kNone);
  parse_upstream_care(section, cluster);
  parse_upstream_tls(section, document.weir_file, cluster);
  section.finish();
  document.cluster_positions[entry.key] = entry.at;
  document.clusters.push_back(std::move(cluster));
}

void parse_route(const Node& node, std::size_t index, Document& document, Context& context) {
  RouteSpec spec;
  spec.path = "routes[" + std::to_string(index) + "]";
  Section section(node, spec.path, context);
  spec.at = section.at("path");
  const bool has_path = section.text("path", spec.route.pattern);
  if (!has_path && section.find_maybe_empty("path") == nullptr) {
    section.error("path", "is missing; write one such as \"POST /order/{id}\" or \"/**\"");
  }
  spec.route.upstream = "default";
  section.text("upstream", spec.route.upstream);
  spec.upstream_at = section.at("upstream");
  using pipeline::Criticality;
  static constexpr Word<Criticality> words[] = {{"core", Criticality::core},
                                                {"auxiliary", Criticality::auxiliary},
                                                {"optional", Criticality::optional}};
  section.word("criticality", spec.route.criticality, words);
  identity::Credential required = identity::Credential::none;
  if (parse_credential(section, "auth", required)) spec.auth = required;
  section.finish();
  if (!has_path) return;
  const auto pattern = parse_pattern(spec.route.pattern, spec.at, section.path_of("path"), context);
  if (!pattern) return;
  spec.pattern = *pattern;
  document.routes.push_back(std::move(spec));
}

}  // namespace

void parse_upstreams(Section& root, Document& document) {
  const Node* const node = root.find("upstreams");
  if (node == nullptr || node->kind != Node::Kind::map || node->entries.empty()) {
    root.error("upstreams",
               "needs at least one, such as upstreams: {default: {endpoints: [127.0.0.1:9000]}}");
    return;
  }
  for (const Entry& entry : node->entries) parse_upstream(entry, document, root.context());
}

void parse_routes(Section& root, Document& document) {
  const Node* const node = root.find("routes");
  if (node == nullptr) {
    RouteSpec everything;
    everything.route.pattern = "/**";
    everything.route.upstream = "default";
    everything.pattern = {"/**", "", "/**"};
    everything.at = root.at();
    everything.upstream_at = root.at();
    everything.path = "routes";
    document.routes.push_back(std::move(everything));
    return;
  }
  if (node->kind != Node::Kind::sequence || node->items.empty()) {
    root.error("routes", "needs a list such as [{path: \"/**\", upstream: default}]");
    return;
  }
  for (std::size_t n = 0; n < node->items.size(); ++n) {
    parse_route(node->items[n], n, document, root.context());
  }
}

}  // namespace weir::config
