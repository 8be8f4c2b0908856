// SPDX-License-Identifier: Apache-2.0
// Who the client is behind trusted proxies (spec ID-3, RFC 7239 8.1).
#pragma once

#include "identity/addresses.hpp"
#include "weir/http/message.hpp"

namespace weir::identity {

// The peer itself unless it is a trusted proxy. Else the hops of X-Forwarded-For, all its lines joined in
// order, are walked from the right: the first untrusted address is the client; if all are trusted, the
// leftmost. A hop that is no address (`unknown`, `_obfuscated`, garbage) ends the walk at the last good hop,
// since nothing to its left can be believed. Forwarded (RFC 7239) is read only where no X-Forwarded-For line
// came: a proxy in front must overwrite or drop the one it does not write.
//
// Hops may carry ports and brackets. Work is bounded: at most 64 hops are walked. The result is plain
// (addresses.hpp). Never allocates.
Address client_address(const http::RequestHead& head, const Address& peer, const CidrTable& trusted) noexcept;

// One hop: "1.2.3.4", "1.2.3.4:567", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:567", any with a zone.
std::optional<Address> parse_hop(std::string_view text) noexcept;

}  // namespace weir::identity
