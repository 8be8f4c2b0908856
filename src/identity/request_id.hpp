// SPDX-License-Identifier: Apache-2.0
// The id of a request (spec AN-2): the client's where it is safe to log, forward and return, else a UUIDv7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::identity {

// 1 to 128 characters of [A-Za-z0-9._~+/=@:-].
bool is_valid_request_id(std::string_view id) noexcept;

// Appends `given` if it is valid, else a new UUIDv7 (RFC 9562). The ids of one thread rise, even where
// `wall_ms` stands still or steps back; those of different threads and processes differ by 62 random bits.
void append_request_id(std::string& out, std::string_view given, std::int64_t wall_ms);

}  // namespace weir::identity
