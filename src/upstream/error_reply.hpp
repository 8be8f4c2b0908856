// SPDX-License-Identifier: Apache-2.0
// What a client is told when no response can be had: a whole problem+json message with Proxy-Status (RFC
// 9209), without addresses or other internals. Pure.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/http/exchange.hpp"
#include "weir/upstream/cluster.hpp"

namespace weir::upstream {

struct ErrorReply {
  // `body_error` matters for body_refused only; `more_fields` are complete lines that go along.
  ErrorReply(ForwardError error, const error_code& body_error, std::string_view more_fields);

  http::LocalReply local_reply() const noexcept;  // views into this object

  int status = 0;  // 0: there is nobody to answer
  bool close = false;
  std::string field_lines;
  std::string body;
};

}  // namespace weir::upstream
