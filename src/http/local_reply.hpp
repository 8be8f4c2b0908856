// SPDX-License-Identifier: Apache-2.0
// The body of a response that the gateway makes for want of a better one: RFC 9457 problem+json, whole, with
// nothing of the request in it and nothing about the inside of the gateway.
#pragma once

#include <string>
#include <string_view>

namespace weir::http {

inline constexpr std::string_view kProblemType = "application/problem+json";

// {"type":"about:blank","title":"Bad Gateway","status":502,"detail":"..."}; `detail` is plain ASCII without
// quotes, "" for none.
std::string problem_body(int status, std::string_view detail = {});

}  // namespace weir::http
