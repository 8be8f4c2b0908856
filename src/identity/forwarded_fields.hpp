// SPDX-License-Identifier: Apache-2.0
// What the upstream is told about the client: X-Forwarded-For, -Proto, -Host and -Port (RFC 7239 4 and 8.1).
#pragma once

#include <boost/asio/ip/address.hpp>
#include <span>
#include <string>
#include <vector>

#include "weir/http/message.hpp"

namespace weir::identity {

// Appends the four complete field lines. From a trusted peer the list in X-Forwarded-For is continued and the
// other three are kept where they have one sound value; from anyone else all four are written anew. Never two
// lines of one name, provided that the names of fields_to_remove() are taken out of the request.
void append_forwarded_fields(std::string& out, const http::RequestHead& head,
                             const boost::asio::ip::address& peer, bool secure, bool peer_trusted);

// Names (lower case) of client fields that must not reach the upstream.
struct FieldsToRemove {
  std::vector<std::string> from_trusted;  // the request came from a trusted proxy
  std::vector<std::string> from_others;
};

// The fields that the gateway writes itself (the four above, X-Request-Id), those in `asserted_headers` (spec
// ID-5), and, from untrusted peers, everything else that tells an upstream who the client is: Forwarded,
// X-Real-IP and their kin. Each also with underscores for hyphens, which CGI-style upstreams cannot tell
// apart.
FieldsToRemove fields_to_remove(std::span<const std::string> asserted_headers);

}  // namespace weir::identity
