// SPDX-License-Identifier: Apache-2.0
// Switching protocols (RFC 9110 7.8): who may ask for it, and whether an upstream said yes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/http/message.hpp"

namespace weir::upstream {

// The one of `allowed` that the request asks for, "" if none. Only an HTTP/1.1 GET without a body can ask,
// and only if its Connection field says so; otherwise Upgrade is ignored and the request is an ordinary one.
std::string_view wanted_upgrade(const http::RequestHead& head,
                                const std::vector<std::string>& allowed) noexcept;

// A 101 that switches to exactly `upgrade` ("" was not asked for and is never accepted).
bool accepts_upgrade(const http::ResponseHead& head, std::string_view upgrade) noexcept;

// Appends the two fields that ask for a protocol, or grant it.
void append_upgrade(std::string& out, std::string_view upgrade);

}  // namespace weir::upstream
