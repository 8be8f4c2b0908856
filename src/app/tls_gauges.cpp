// SPDX-License-Identifier: Apache-2.0
// Handshakes, refused connections, and until when certificates are good.
#include "app/gauges.hpp"
#include "net/tls_context.hpp"

namespace weir::app {
namespace {

using telemetry::SampleFamily;
using telemetry::SampleKind;

// A counter with one label that takes `size` values; those that never occurred are there with 0.
template <class Name, class Value>
SampleFamily counters(SampleFamily family, const char* label, std::size_t size, Name name, Value value) {
  for (std::size_t n = 0; n < size; ++n) {
    family.samples.push_back({{{label, std::string(name(n))}}, value(n), {}});
  }
  return family;
}

}  // namespace

std::vector<SampleFamily> tls_families(const Workers& workers) {
  const auto sum = [&workers](auto counter) {
    double total = 0;
    for (const auto& worker : workers) {
      total += static_cast<double>(counter(worker->server_stats()).load(std::memory_order_relaxed));
    }
    return total;
  };
  using Stats = http::ServerStats;
  auto handshakes = counters(
      {"weir_tls_handshakes_total",
       "TLS handshakes with clients that ended well, by version.",
       SampleKind::counter,
       {}},
      "version", 2, [](std::size_t n) { return net::tls_version_name(static_cast<net::TlsVersion>(n)); },
      [&](std::size_t n) { return sum([n](const Stats& s) -> auto& { return s.handshakes[n]; }); });
  SampleFamily resumed{"weir_tls_resumed_total", "Among them: sessions resumed.", SampleKind::counter, {}};
  resumed.samples.push_back({{}, sum([](const Stats& s) -> auto& { return s.resumed; }), {}});
  auto failures = counters(
      {"weir_tls_handshake_failures_total",
       "TLS handshakes with clients that failed, by reason.",
       SampleKind::counter,
       {}},
      "reason", net::kTlsErrors - 1,
      [](std::size_t n) { return net::tls_error_name(static_cast<net::TlsError>(n + 1)); },
      [&](std::size_t n) { return sum([n](const Stats& s) -> auto& { return s.tls_failures[n + 1]; }); });
  auto refused = counters(
      {"weir_proxy_header_refused_total",
       "Connections closed for their PROXY header, by reason.",
       SampleKind::counter,
       {}},
      "reason", http::kProxyFaults,
      [](std::size_t n) { return http::proxy_fault_name(static_cast<http::ProxyFault>(n)); },
      [&](std::size_t n) { return sum([n](const Stats& s) -> auto& { return s.proxy_faults[n]; }); });
  return {std::move(handshakes), std::move(resumed), std::move(failures), std::move(refused)};
}

std::vector<SampleFamily> certificate_families(const pipeline::Runtime& runtime) {
  SampleFamily until{"weir_tls_certificate_not_after_seconds",
                     "When a listener's certificate expires, seconds since 1970.",
                     SampleKind::gauge,
                     {}};
  for (const http::ListenerOptions& listener : runtime.server.listeners) {
    if (listener.tls == nullptr) continue;
    const std::string address = listener.host + ':' + std::to_string(listener.port);
    for (const auto& certificate : listener.tls->options().certificates) {
      until.samples.push_back({{{"listener", address}, {"certificate", certificate->file()}},
                               static_cast<double>(certificate->not_after_s()),
                               {}});
    }
  }
  return {std::move(until)};
}

}  // namespace weir::app
