// SPDX-License-Identifier: Apache-2.0
// How an upstream is looked after: `health`, `ejection`, `slow_start`, `retries`, `max_connections`, `queue`;
// and its `tls`.
#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "config/parse.hpp"
#include "net/tls_context.hpp"
#include "weir/base/clock.hpp"

namespace weir::config {

namespace {

using upstream::ClusterOptions;

constexpr Milliseconds kShortest{1};
constexpr Milliseconds kLongest = std::chrono::hours(24);
constexpr int kLeastStatus = 100;
constexpr int kMostStatus = 599;

bool says_none(const Node& node) {
  return node.kind == Node::Kind::scalar && node.text == "none";
}

std::optional<int> status_of(std::string_view text) {
  int status = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, status);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == end;
  if (!whole || status < kLeastStatus || status > kMostStatus) return {};
  return status;
}

bool small_count(Section& section, std::string_view key, int& out, Range<std::int64_t> range) {
  std::int64_t value = 0;
  if (!section.count(key, value, range)) return false;
  out = static_cast<int>(value);
  return true;
}

// "200" or "200-399".
void parse_status_range(Section& section, upstream::HealthOptions& health) {
  std::string text;
  if (!section.text("status", text)) return;
  const std::size_t dash = text.find('-');
  const auto from = status_of(std::string_view(text).substr(0, dash));
  const auto to = dash == std::string::npos ? from : status_of(std::string_view(text).substr(dash + 1));
  if (!from || !to || *from > *to) {
    section.error("status", "`" + text + "` is no range of status codes; write one such as 200-399");
    return;
  }
  health.status_from = *from;
  health.status_to = *to;
}

void parse_health(Section& upstream, ClusterOptions& cluster) {
  const Node* const node = upstream.find("health");
  if (node == nullptr || says_none(*node)) return;
  Section section(*node, upstream.path_of("health"), upstream.context());
  upstream::HealthOptions health;
  if (!section.text("path", health.path)) section.error("path", "is missing; write one such as /healthz");
  const bool clean =
      std::all_of(health.path.begin(), health.path.end(), [](char c) { return c > ' ' && c < 127; });
  if (!health.path.empty() && (!health.path.starts_with('/') || !clean)) {
    section.error("path", "`" + health.path + "` is no path; write one such as /healthz");
  }
  section.text("host", health.host);
  section.duration("interval", health.interval, {Milliseconds(50), kLongest});
  section.duration("timeout", health.timeout, {kShortest, kLongest});
  small_count(section, "healthy", health.healthy, {1, 100});
  small_count(section, "unhealthy", health.unhealthy, {1, 100});
  parse_status_range(section, health);
  section.finish();
  cluster.health = std::move(health);
}

std::vector<int> parse_statuses(Section& section, std::string_view key,
                                const std::vector<std::string>& texts) {
  std::vector<int> statuses;
  for (const std::string& text : texts) {
    const auto status = status_of(text);
    if (status && *status >= 400) {
      statuses.push_back(*status);
    } else {
      section.error(key, "`" + text + "` is no status of an error; write one such as 503");
    }
  }
  return statuses;
}

void parse_ejection(Section& upstream, ClusterOptions& cluster) {
  const Node* const node = upstream.find("ejection");
  if (node == nullptr) return;
  if (says_none(*node)) {
    cluster.ejection.failures = 0;
    return;
  }
  Section section(*node, upstream.path_of("ejection"), upstream.context());
  upstream::EjectionOptions& ejection = cluster.ejection;
  small_count(section, "failures", ejection.failures, {1, 1000});
  std::vector<std::string> texts;
  if (section.texts("statuses", texts)) ejection.statuses = parse_statuses(section, "statuses", texts);
  section.duration("time", ejection.time, {kShortest, kLongest});
  section.duration("max_time", ejection.max_time, {kShortest, kLongest});
  parse_percent_of(section, "max_share", ejection.max_percent, {0, 100});
  section.finish();
}

void parse_retry_causes(Section& section, upstream::RetryOptions& retries) {
  std::vector<std::string> causes;
  if (!section.texts("on", causes)) return;
  retries.on_reset = retries.on_timeout = false;
  std::vector<std::string> statuses;
  for (std::string& cause : causes) {
    if (cause == "reset") {
      retries.on_reset = true;
    } else if (cause == "timeout") {
      retries.on_timeout = true;
    } else if (status_of(cause)) {
      statuses.push_back(std::move(cause));
    } else {
      section.error("on", "`" + cause + "` is not one of reset, timeout or a status such as 503");
    }
  }
  retries.on_statuses = parse_statuses(section, "on", statuses);
}

void parse_retries(Section& upstream, ClusterOptions& cluster) {
  const Node* const node = upstream.find("retries");
  if (node == nullptr) return;
  upstream::RetryOptions& retries = cluster.retries;
  if (says_none(*node)) {
    retries.attempts = retries.core_attempts = 1;
    retries.on_reset = false;
    return;
  }
  Section section(*node, upstream.path_of("retries"), upstream.context());
  if (small_count(section, "attempts", retries.attempts, {1, 10})) retries.core_attempts = retries.attempts;
  parse_percent_of(section, "budget", retries.budget_percent, {0, 100});
  parse_retry_causes(section, retries);
  section.finish();
}

void parse_caps(Section& upstream, ClusterOptions& cluster) {
  std::int64_t count = 0;
  if (upstream.count("max_connections", count, {0, 1'000'000})) {
    cluster.cap.max_connections = static_cast<std::size_t>(count);
  }
  const Node* const node = upstream.find("queue");
  if (node == nullptr) return;
  if (says_none(*node)) {
    cluster.cap.queue_size = 0;
    return;
  }
  Section section(*node, upstream.path_of("queue"), upstream.context());
  if (section.count("size", count, {0, 1'000'000})) cluster.cap.queue_size = static_cast<std::size_t>(count);
  section.duration("wait", cluster.cap.queue_wait, {kShortest, kLongest});
  section.finish();
}

}  // namespace

bool parse_percent_of(Section& section, std::string_view key, int& out, Range<int> range) {
  std::string text;
  if (!section.text(key, text)) return false;
  std::string_view digits = text;
  const bool marked = digits.ends_with('%');
  if (marked) digits.remove_suffix(1);
  int value = 0;
  const auto end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value);
  const bool good = marked && !digits.empty() && parsed.ec == std::errc() && parsed.ptr == end;
  if (!good || value < range.least || value > range.most) {
    section.error(key, "`" + text + "` is no share; write one such as 20%, from " +
                           std::to_string(range.least) + "% to " + std::to_string(range.most) + "%");
    return false;
  }
  out = value;
  return true;
}

void parse_upstream_care(Section& upstream, ClusterOptions& cluster) {
  parse_health(upstream, cluster);
  parse_ejection(upstream, cluster);
  upstream.duration_or_none("slow_start", cluster.slow_start, {kShortest, kLongest});
  parse_retries(upstream, cluster);
  parse_caps(upstream, cluster);
}

void parse_upstream_tls(Section& upstream, const std::string& weir_file, ClusterOptions& cluster) {
  parse_client_tls(upstream, weir_file, cluster.tls, cluster.tls_version);
}

void parse_client_tls(Section& parent, const std::string& weir_file,
                      std::shared_ptr<const net::TlsClientContext>& context, std::string& version) {
  const Node* const node = parent.find("tls");
  if (node == nullptr || says_none(*node)) return;
  Section section(*node, parent.path_of("tls"), parent.context());
  net::TlsClientOptions options;
  using Verify = net::TlsClientOptions::Verify;
  bool verify = true;
  if (section.boolean("verify", verify) && !verify) {
    options.verify = Verify::off;
    section.context().diagnostics.warning(section.at("verify"), section.path_of("verify"),
                                          "is off: whoever can redirect the connection can read it");
  }
  read_tls_file(section, "ca", weir_file, options.ca);
  section.text("server_name", options.server_name);
  net::TlsFile certificate;
  net::TlsFile key;
  const bool has_certificate = read_tls_file(section, "certificate", weir_file, certificate);
  const bool has_key = read_tls_file(section, "key", weir_file, key);
  section.finish();
  std::string why;
  if (has_certificate != has_key) {
    section.error(has_certificate ? "key" : "certificate", "is missing: certificate and key belong together");
    return;
  }
  if (has_certificate) {
    options.certificate = take_certificate(section, certificate, key, {});
    if (options.certificate == nullptr) return;
  }
  const Hash128 hash = stable_hash128(options.ca.bytes + '\0' + options.server_name + '\0' +
                                      certificate.bytes + '\0' + key.bytes + (verify ? "1" : "0"));
  version = std::to_string(hash.high) + std::to_string(hash.low);
  context = net::TlsClientContext::make(std::move(options), why);
  if (context == nullptr) section.error("ca", why);
}

}  // namespace weir::config
