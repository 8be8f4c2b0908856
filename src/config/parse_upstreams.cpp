// SPDX-License-Identifier: Apache-2.0
// `upstreams` and `routes`: where requests go.
#include <algorithm>

#include "config/parse.hpp"

namespace weir::config {

namespace {

using upstream::ClusterOptions;

constexpr std::string_view kNone[] = {"none"};
constexpr Milliseconds kShortest{1};
constexpr Milliseconds kLongest = std::chrono::hours(24);

void parse_endpoints(Section& section, ClusterOptions& cluster) {
  std::vector<std::string> texts;
  if (!section.texts("endpoints", texts)) {
    if (section.find_maybe_empty("endpoints") == nullptr) {
      section.error("endpoints", "is missing; write a list such as [127.0.0.1:9000]");
    }
    return;
  }
  if (texts.empty()) section.error("endpoints", "is empty; list at least one such as 127.0.0.1:9000");
  for (const std::string& text : texts) {
    std::string why;
    const std::optional<HostPort> endpoint = parse_host_port(text, why);
    if (!endpoint) {
      section.error("endpoints", "`" + text + "` " + why);
      continue;
    }
    cluster.endpoints.push_back({endpoint->host, endpoint->port});
  }
}

void parse_upstream_timeouts(Section& section, ClusterOptions& cluster) {
  const Node* const node = section.find("timeout");
  if (node == nullptr) return;
  Section timeout(*node, section.path_of("timeout"), section.context());
  timeout.duration("connect", cluster.connect_timeout, {kShortest, kLongest});
  timeout.duration_or_none("response", cluster.response_timeout, {kShortest, kLongest});
  timeout.duration_or_none("idle", cluster.idle_timeout, {kShortest, kLongest});
  timeout.duration_or_none("total", cluster.total_timeout, {kShortest, kLongest});
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

// `attempts: 1` is what happens today; the budget of retries that never happen may be anything.
void parse_retries(Section& section) {
  const Node* const node = section.find("retries");
  if (node == nullptr || (node->kind == Node::Kind::scalar && node->text == "none")) return;
  Section retries(*node, section.path_of("retries"), section.context());
  static constexpr std::string_view one[] = {"1"};
  retries.not_supported("attempts", one);
  std::string budget;
  std::string why;
  if (retries.text("budget", budget) && !parse_percent(budget, why)) {
    retries.error("budget", "`" + budget + "` " + why);
  }
  retries.finish();
}

void parse_upstream(const Entry& entry, Document& document, Context& context) {
  ClusterOptions cluster;
  cluster.name = entry.key;
  Section section(entry.value, "upstreams." + entry.key, context);
  if (!is_name(entry.key)) {
    context.diagnostics.error(entry.at, section.path(), "is not a name; use letters, digits, _ and -");
  }
  parse_endpoints(section, cluster);
  using upstream::Balance;
  static constexpr Word<Balance> balances[] = {{"least_request", Balance::least_request},
                                               {"round_robin", Balance::round_robin}};
  section.word("balance", cluster.balance, balances);
  parse_upstream_timeouts(section, cluster);
  section.duration("keep_alive", cluster.keep_alive, {kShortest, kLongest});
  std::int64_t idle = 0;
  if (section.count("idle_connections", idle, {0, 100'000})) {
    cluster.idle_connections = static_cast<std::size_t>(idle);
  }
  parse_upgrades(section, cluster);
  for (const std::string_view later : {"health", "breaker", "tls"}) section.not_supported(later, kNone);
  parse_retries(section);
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
