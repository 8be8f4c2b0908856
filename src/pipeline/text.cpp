// SPDX-License-Identifier: Apache-2.0
#include "pipeline/text.hpp"

#include <arpa/inet.h>

namespace weir::pipeline {

void append_json_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
}

std::string_view address_text(const boost::asio::ip::address& address, AddressText& buffer) noexcept {
  const char* text = nullptr;
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    text = inet_ntop(AF_INET, bytes.data(), buffer.data(), buffer.size());
  } else {
    const auto v6 = address.to_v6();
    const auto bytes = v6.to_bytes();
    const int family = v6.is_v4_mapped() ? AF_INET : AF_INET6;
    text = inet_ntop(family, bytes.data() + (v6.is_v4_mapped() ? 12 : 0), buffer.data(), buffer.size());
  }
  return text != nullptr ? std::string_view(text) : std::string_view();
}

}  // namespace weir::pipeline
