// SPDX-License-Identifier: Apache-2.0
// The heads the gateway writes on its own behalf: the request to an upstream, and the fields of a response on
// their way to the client. Built from what parsing decided, never copied: framing and Host are set anew.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/http/message.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

// Where a request goes, beside what the plan says.
struct Destination {
  std::string_view fallback_host;  // where an HTTP/1.0 client sent no Host
  std::string_view upgrade;        // the protocol to switch to, "" if none
};

// Appends the whole request head. OPTIONS carries a Max-Forwards of one less.
void append_request_head(std::string& out, const http::RequestHead& head, const ForwardPlan& plan,
                         const Destination& destination);

// Max-Forwards of an OPTIONS request is 0: it is to be answered here (RFC 9110 7.6.2).
bool ends_here(const http::RequestHead& head) noexcept;

struct Cost {
  std::uint64_t value = 0;
  bool present = false;
};

// Appends the field lines of a final response; returns what the plan's cost field said.
Cost append_response_fields(std::string& out, const http::ResponseHead& head, const ForwardPlan& plan,
                            std::int64_t wall_ms);

// Appends an interim response (1xx) as the client may see it.
void append_interim_head(std::string& out, const http::ResponseHead& head);

}  // namespace weir::upstream
