// SPDX-License-Identifier: Apache-2.0
// What goes wrong on a TLS connection, in words that fit a metric's label and a log line: which check failed,
// never what was in a key or a certificate. Both sides use them; some occur on one side only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/base/result.hpp"

namespace weir::net {

enum class TlsError : std::uint8_t {
  timeout = 1,          // the handshake did not end in time
  closed,               // the peer closed, or broke, the connection during the handshake
  plain_text,           // what came is not TLS (on a server mostly HTTP)
  protocol,             // no version or cipher in common, or messages that break the protocol
  alpn,                 // no application protocol in common
  alert,                // the peer refused with an alert (it may not like our certificate)
  certificate_missing,  // the peer has to show a certificate and did not
  certificate_expired,  // not valid any more
  certificate_early,    // not valid yet
  certificate_self_signed,
  certificate_untrusted,  // no chain to an authority that is trusted here
  certificate_name,       // issued for another host
  certificate_revoked,
  certificate_invalid,  // any other fault: signature, purpose, length of the chain, weak key
  truncated,            // the connection ended without close_notify: what was read may not be all
  internal,             // memory, or a fault of the library
};

inline constexpr std::size_t kTlsErrors = 17;  // one more than the last: an array by error can be indexed

// "certificate_expired"; bounded, for labels and log lines.
std::string_view tls_error_name(TlsError error) noexcept;
// What `code` means if it came from a TLS stream; `internal` for the rest (a socket's error is `closed`).
TlsError tls_error_of(const error_code& code) noexcept;

error_code make_error_code(TlsError error) noexcept;

}  // namespace weir::net

template <>
struct boost::system::is_error_code_enum<weir::net::TlsError> : std::true_type {};
