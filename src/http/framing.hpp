// SPDX-License-Identifier: Apache-2.0
// How a body is delimited (RFC 9112 6.3), strictly: what two parsers could read in two ways is refused. Pure.
#pragma once

#include <optional>

#include "weir/http/message.hpp"

namespace weir::http {

// A plain decimal number that fits 63 bits; nullopt otherwise (RFC 9110 8.6: 1*DIGIT, no sign, no list).
std::optional<std::uint64_t> parse_content_length(std::string_view value) noexcept;

// Reads Transfer-Encoding and Content-Length. nullopt: ambiguous or broken. Transfer-Encoding must be exactly
// `chunked`, once, in HTTP/1.1 and without Content-Length. Without both fields the kind is `none`.
// `accept_equal`: several equal Content-Length lines count as one (responses), else they are refused.
enum class Duplicates : std::uint8_t { refuse, accept_equal };
std::optional<Framing> judge_framing(const Fields& fields, int version_minor, Duplicates duplicates) noexcept;

// keep-alive as the Connection fields and the version have it (RFC 9112 9.3).
bool judge_keep_alive(const Fields& fields, int version_minor) noexcept;

}  // namespace weir::http
