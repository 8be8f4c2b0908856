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

// visit(address, certificate) for all that clients may be shown, the admin port's too.
template <class Visit>
void for_each_certificate(const pipeline::Runtime& runtime, Visit visit) {
  const auto visit_all = [&visit](const auto& at, const net::TlsServerContext* tls) {
    if (tls == nullptr) return;
    const std::string address = at.host + ':' + std::to_string(at.port);
    for (const auto& certificate : tls->options().certificates) visit(address, *certificate);
  };
  for (const http::ListenerOptions& listener : runtime.server.listeners) {
    visit_all(listener, listener.tls.get());
  }
  visit_all(runtime.admin, runtime.admin_tls.get());
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

std::vector<SampleFamily> certificate_families(const pipeline::Runtime& runtime, std::int64_t now_s) {
  SampleFamily until{"weir_tls_certificate_not_after_seconds",
                     "When a listener's certificate expires, seconds since 1970.",
                     SampleKind::gauge,
                     {}};
  for_each_certificate(runtime, [&until](const std::string& address, const net::TlsCertificate& one) {
    const auto seconds = static_cast<double>(one.not_after_s());
    until.samples.push_back({{{"listener", address}, {"certificate", one.file()}}, seconds, {}});
  });
  SampleFamily not_valid{"weir_tls_certificates_not_valid",
                         "Listeners' certificates in force that have expired or are not valid yet.",
                         SampleKind::gauge,
                         {}};
  not_valid.samples.push_back({{}, static_cast<double>(certificate_faults(runtime, now_s).size()), {}});
  SampleFamily kept{
      "weir_tls_certificates_kept",
      "Certificates of an earlier load in force, since their files hold ones that are not valid.",
      SampleKind::gauge,
      {}};
  kept.samples.push_back({{}, static_cast<double>(runtime.kept_certificates), {}});
  return {std::move(until), std::move(not_valid), std::move(kept)};
}

std::vector<std::string> certificate_faults(const pipeline::Runtime& runtime, std::int64_t now_s) {
  std::vector<std::string> faults;
  for_each_certificate(runtime, [&](const std::string& address, const net::TlsCertificate& one) {
    const std::string fault = one.validity_fault(now_s);
    if (!fault.empty()) faults.push_back(address + " shows " + one.file() + ", which " + fault);
  });
  return faults;
}

}  // namespace weir::app
