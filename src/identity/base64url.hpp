// SPDX-License-Identifier: Apache-2.0
// base64url as JOSE writes it (RFC 7515 section 2): no padding, no white space, no foreign character.
#pragma once

#include <string>
#include <string_view>

namespace weir::identity {

// Replaces `out` by the octets. False for anything but the one canonical spelling: a length that no octets
// have, a character outside the alphabet, or unused bits that are not zero. So two spellings of one token,
// which would be two cache entries, do not exist.
bool decode_base64url(std::string_view text, std::string& out);

}  // namespace weir::identity
