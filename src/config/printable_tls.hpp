// SPDX-License-Identifier: Apache-2.0
// TLS settings as the effective configuration shows them: files by name, certificates by their names and
// dates, never a key.
#pragma once

#include <boost/json.hpp>

namespace weir::net {
class TlsClientContext;
class TlsServerContext;
}  // namespace weir::net

namespace weir::config {

// null: no TLS.
boost::json::value tls_of(const net::TlsServerContext* context);
boost::json::value tls_of(const net::TlsClientContext* context);

}  // namespace weir::config
