// SPDX-License-Identifier: Apache-2.0
// What the TLS connections of one listener, or to one upstream, have in common: certificates, whom to trust,
// versions. Built when a configuration is compiled, immutable then, shared by all workers; a connection keeps
// the one it began with. TLS 1.2 and 1.3; ciphers with forward secrecy and authenticated encryption only; no
// compression, no renegotiation, no early data (it can be replayed).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/tls_certificate.hpp"
#include "net/tls_handles.hpp"
#include "net/tls_ticket_keys.hpp"
#include "weir/base/result.hpp"

namespace weir::net {

enum class TlsVersion : std::uint8_t { tls1_2, tls1_3 };

// "TLSv1.3", as OpenSSL and access logs spell it.
std::string_view tls_version_name(TlsVersion version) noexcept;

struct TlsServerOptions {
  enum class ClientCertificate : std::uint8_t { none, optional, required };

  std::vector<std::shared_ptr<const TlsCertificate>> certificates;  // one at least; the first is the default
  TlsFile client_ca;                                                // PEM; needed unless `none`
  ClientCertificate client_certificate = ClientCertificate::none;
  TlsVersion min_version = TlsVersion::tls1_2;
  TicketKeys* ticket_keys = nullptr;  // outlives the context
};

class TlsServerContext {
 public:
  // nullptr: `why` says what is wrong with which file.
  static std::shared_ptr<const TlsServerContext> make(TlsServerOptions options, std::string& why);

  // A fresh server side. Clients that ask for protocols (ALPN) without http/1.1 among them are refused.
  TlsHandle<SSL> open() const;
  const TlsServerOptions& options() const noexcept { return options_; }

 private:
  TlsServerContext() = default;
  static int choose(SSL* tls, void* self) noexcept;
  static int staple(SSL* tls, void* self) noexcept;
  bool trust_clients(std::string& why);

  TlsServerOptions options_;
  TlsHandle<SSL_CTX> context_;
};

// What the clients of a listener have to do: speak plainly, speak TLS, show a certificate or may show one. A
// null context: plainly.
enum class TlsDemands : std::uint8_t { none, tls, optional_certificate, certificate };
TlsDemands tls_demands(const TlsServerContext* context) noexcept;

struct TlsClientOptions {
  enum class Verify : std::uint8_t { on, off };

  Verify verify = Verify::on;  // off: neither chain nor name are checked; whoever writes it is warned
  TlsFile ca;                  // PEM; without bytes: the system's authorities
  std::string server_name;     // for SNI and the check of the name; empty: the host that is connected to
  std::shared_ptr<const TlsCertificate> certificate;  // for upstreams that want one (mTLS)
  TlsVersion min_version = TlsVersion::tls1_2;
};

// The last session that a server gave, to resume from. One per endpoint and worker; connections keep it
// alive. One thread only.
class TlsSessions {
 public:
  void keep(TlsHandle<SSL_SESSION> session, const void* context) noexcept {
    session_ = std::move(session);
    context_ = context;
  }
  // nullptr unless it was made under `context`: what was verified otherwise does not count.
  SSL_SESSION* last(const void* context) const noexcept {
    return context == context_ ? session_.get() : nullptr;
  }

 private:
  TlsHandle<SSL_SESSION> session_;
  const void* context_ = nullptr;  // compared only
};

class TlsClientContext {
 public:
  static std::shared_ptr<const TlsClientContext> make(TlsClientOptions options, std::string& why);

  // A fresh client side towards `host` (a name or an address literal), asking for http/1.1. nullptr: out of
  // memory, or a name that cannot be one.
  TlsHandle<SSL> open(std::string_view host) const;
  const TlsClientOptions& options() const noexcept { return options_; }

 private:
  TlsClientContext() = default;

  TlsClientOptions options_;
  TlsHandle<SSL_CTX> context_;
};

}  // namespace weir::net
