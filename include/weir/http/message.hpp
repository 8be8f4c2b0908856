// SPDX-License-Identifier: Apache-2.0
// Message heads as the gateway sees them: views into the bytes that came in, plus what parsing decided.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/http/fields.hpp"

namespace weir::http {

enum class BodyKind : std::uint8_t { none, length, chunked, until_close };

// How a body is delimited. Decided once, strictly, from Transfer-Encoding and Content-Length (spec PX-2).
struct Framing {
  BodyKind kind = BodyKind::none;
  std::uint64_t length = 0;  // of a `length` body
};

enum class Method : std::uint8_t { get, head, post, put, delete_, options, patch, other };

// A request head that passed every check of strict parsing. Views live as long as the exchange.
struct RequestHead {
  Method method = Method::other;
  std::string_view method_text;
  std::string_view target;     // as received
  std::string_view path;       // of the target, without the query; absolute form reduced to its path
  std::string_view query;      // after '?', without it
  std::string_view authority;  // Host, or the authority of an absolute-form target
  int version_minor = 1;       // HTTP/1.x
  Fields fields;               // in order, repeated ones kept
  Framing framing;
  bool keep_alive = true;  // what the client asked for
  bool expects_continue = false;

  // The first field of that name (case-insensitive), or nullptr.
  const Field* find(const FieldName& name) const noexcept { return fields.find(name); }
};

struct ResponseHead {
  int status = 0;
  std::string_view reason;
  int version_minor = 1;
  Fields fields;
  Framing framing;
  bool bodiless = false;  // no body follows whatever `framing` says: HEAD, 1xx, 204, 304
  bool keep_alive = true;

  const Field* find(const FieldName& name) const noexcept { return fields.find(name); }
};

}  // namespace weir::http
