// SPDX-License-Identifier: Apache-2.0
#include "identity/base64url.hpp"

#include <array>
#include <cstdint>

namespace weir::identity {
namespace {

constexpr std::uint8_t kForeign = 0xff;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kForeign);
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (std::size_t n = 0; n < alphabet.size(); ++n) {
    values[static_cast<unsigned char>(alphabet[n])] = static_cast<std::uint8_t>(n);
  }
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = make_values();

}  // namespace

bool decode_base64url(std::string_view text, std::string& out) {
  out.clear();
  if (text.size() % 4 == 1) return false;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kForeign) return false;
    bits = bits << 6 | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held & 0xff);
    bits &= (1U << held) - 1;
  }
  return bits == 0;
}

}  // namespace weir::identity
