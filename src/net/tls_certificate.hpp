// SPDX-License-Identifier: Apache-2.0
// A certificate with its chain and private key, as loaded from PEM: checked once, immutable, shared by all
// workers. The texts of errors name files and checks, never a byte of a key.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/tls_handles.hpp"

namespace weir::net {

// Contents, and the name of the file they came from (for messages and labels).
struct TlsFile {
  std::string name;
  std::string bytes;
};

class TlsCertificate {
 public:
  // `certificate`: PEM, the server's own first, then the intermediates. `key`: PEM, not encrypted. `ocsp`:
  // the DER of a response to staple, or empty. nullptr: `why` says what is wrong with which file (unreadable
  // PEM, encrypted or mismatched key). Its time of validity is not looked at.
  static std::shared_ptr<const TlsCertificate> load(const TlsFile& certificate, const TlsFile& key,
                                                    const TlsFile& ocsp, std::string& why);

  // "expired at 2026-11-30T12:00:00Z", "is not valid before ..."; empty: valid at `now_s`, seconds since
  // 1970.
  std::string validity_fault(std::int64_t now_s) const;
  bool is_same(const TlsCertificate& other) const noexcept;  // the certificate itself, whatever its file

  enum class Match : std::uint8_t { none, wildcard, exact };
  // Against the DNS names of the certificate (the common name if there are none); any case.
  Match match(std::string_view server_name) const noexcept;

  const std::string& file() const noexcept { return file_; }
  const std::vector<std::string>& names() const noexcept { return names_; }
  std::int64_t not_after_s() const noexcept { return not_after_s_; }  // seconds since 1970
  std::string not_after() const;                                      // the same as "2026-11-30T12:00:00Z"
  const std::string& ocsp() const noexcept { return ocsp_; }
  X509* leaf() const noexcept { return leaf_.get(); }
  STACK_OF(X509) * chain() const noexcept { return chain_.get(); }
  EVP_PKEY* key() const noexcept { return key_.get(); }

 private:
  TlsCertificate() = default;

  TlsHandle<X509> leaf_;
  TlsHandle<STACK_OF(X509)> chain_;
  TlsHandle<EVP_PKEY> key_;
  std::string file_;
  std::vector<std::string> names_;
  std::string ocsp_;
  std::int64_t not_after_s_ = 0;
};

// "*.example.org" matches one label more than "example.org" has (RFC 6125, 6.4.3).
TlsCertificate::Match match_server_name(std::string_view pattern, std::string_view server_name) noexcept;

// Which certificate to show for `server_name`: the first with that exact name, else the first whose wildcard
// covers it, else the first. Requires: not empty.
std::size_t choose_certificate(std::span<const std::shared_ptr<const TlsCertificate>> certificates,
                               std::string_view server_name) noexcept;

// What a verified peer certificate says of its holder. The first of each kind; empty: has none.
struct TlsPeer {
  std::string common_name;
  std::string subject;  // the whole distinguished name, RFC 2253
  std::string san_dns;
  std::string san_uri;
  std::string san_email;
};
TlsPeer describe_peer(X509* certificate);

// Seconds since 1970; 0 if it cannot be read.
std::int64_t not_after_of(X509* certificate) noexcept;

}  // namespace weir::net
