// SPDX-License-Identifier: Apache-2.0
#include "limit/key_text.hpp"

#include <array>
#include <cstdint>

#include "base/octet_block.hpp"
#include "weir/base/octets.hpp"

namespace weir::limit {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";

constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (std::size_t byte = 0; byte < 32; ++byte) special[byte] = true;
  special[127] = true;
  for (const char byte : {':', '{', '}', '%', '#'}) special[static_cast<unsigned char>(byte)] = true;
  return special;
}();

bool is_special(char byte) {
  return kSpecial[static_cast<unsigned char>(byte)];
}

// kSpecial, asked of eight bytes at once: nearly all values have no special byte, and all are asked.
bool any_special(std::uint64_t word) {
  return (octets_below(word, 0x20) | octets_equal(word, 0x7f) | octets_equal(word, ':') |
          octets_equal(word, '{') | octets_equal(word, '}') | octets_equal(word, '%') |
          octets_equal(word, '#')) != 0;
}

}  // namespace

bool has_special(std::string_view text) noexcept {
  return any_octet(text, [](const auto& block) { return block.escaped_in_keys() != 0; }, any_special);
}

std::size_t escaped_size(std::string_view text) noexcept {
  std::size_t size = text.size();
  for (const char byte : text) size += is_special(byte) ? 2 : 0;
  return size;
}

char* write_escaped(char* out, std::string_view text) noexcept {
  for (const char byte : text) {
    if (!is_special(byte)) {
      *out++ = byte;
      continue;
    }
    const auto value = static_cast<unsigned char>(byte);
    *out++ = '%';
    *out++ = kHex[value >> 4];
    *out++ = kHex[value & 15];
  }
  return out;
}

}  // namespace weir::limit
