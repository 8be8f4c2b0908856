// SPDX-License-Identifier: Apache-2.0
// `limits` and `timeouts`: what one client connection may cost.
#include "config/parse.hpp"

namespace weir::config {

namespace {

constexpr Milliseconds kShortest{1};
constexpr Milliseconds kLongest = std::chrono::hours(24);

void parse_limits(Section& root, http::ServerOptions& server) {
  const Node* const node = root.find("limits");
  if (node == nullptr) return;
  Section section(*node, "limits", root.context());
  std::uint64_t bytes = 0;
  if (section.size("header_bytes", bytes, {1024, 64 * 1024})) server.header_bytes = bytes;
  if (section.size("target_bytes", bytes, {256, 64 * 1024})) server.target_bytes = bytes;
  section.size("body_bytes", server.body_bytes, {0, std::uint64_t{1} << 40});
  section.size("body_min_rate", server.body_min_rate, {0, std::uint64_t{1} << 30});
  section.size("response_min_rate", server.response_min_rate, {0, std::uint64_t{1} << 30});
  std::int64_t count = 0;
  if (section.count("header_count", count, {1, 1000})) server.header_count = static_cast<std::size_t>(count);
  if (section.count("connections", count, {1, 10'000'000})) {
    server.connections = static_cast<std::size_t>(count);
  }
  if (section.count("connections_per_address", count, {0, 10'000'000})) {
    server.connections_per_address = static_cast<std::size_t>(count);
  }
  section.finish();
}

}  // namespace

void parse_client_limits(Section& root, Document& document) {
  http::ServerOptions& server = document.server;
  parse_limits(root, server);
  const Node* const node = root.find("timeouts");
  if (node == nullptr) return;
  Section section(*node, "timeouts", root.context());
  section.duration("header", server.header_timeout, {kShortest, kLongest});
  section.duration_or_none("body_idle", server.body_idle_timeout, {kShortest, kLongest});
  section.duration_or_none("keep_alive", server.keep_alive_timeout, {kShortest, kLongest});
  section.duration_or_none("total", server.total_timeout, {kShortest, kLongest});
  section.duration_or_none("write", server.write_timeout, {kShortest, kLongest});
  section.duration_or_none("tunnel_idle", server.tunnel_idle_timeout, {kShortest, kLongest});
  Milliseconds drain{document.drain_ms};
  section.duration("drain", drain, {Milliseconds{0}, kLongest});
  document.drain_ms = drain.count();
  section.finish();
}

}  // namespace weir::config
