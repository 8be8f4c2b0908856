// SPDX-License-Identifier: Apache-2.0
// MessagePack, as much of it as lua/chain.lua is sent: integers, short texts, short arrays, false. A script
// reads a whole text of them in one step (`cmsgpack.unpack`), where numbers in ARGV cost the server one
// object each and Lua a conversion.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::store {

class Packed {
 public:
  void clear() noexcept { bytes_.clear(); }
  std::string_view view() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return bytes_.size(); }

  // In the shortest form. Numbers beyond 2^53 lose digits in Lua.
  void add(std::int64_t value) {
    if (value >= 0) {
      add_natural(static_cast<std::uint64_t>(value));
    } else if (value >= -32) {
      put(static_cast<std::uint8_t>(value));
    } else {
      put(0xd3);
      put_big_endian(static_cast<std::uint64_t>(value), 8);
    }
  }
  // At most 31 bytes.
  void add(std::string_view text) {
    put(static_cast<std::uint8_t>(0xa0 + text.size()));
    bytes_.append(text);
  }
  void add_false() { put(0xc2); }
  // The next `size` values, at most 15, are one table.
  void start_array(std::size_t size) { put(static_cast<std::uint8_t>(0x90 + size)); }

 private:
  void add_natural(std::uint64_t value) {
    if (value < 0x80) return put(static_cast<std::uint8_t>(value));
    const auto width = static_cast<unsigned>(std::bit_width(value));
    const int power = width <= 8 ? 0 : width <= 16 ? 1 : width <= 32 ? 2 : 3;  // 2^power bytes
    put(static_cast<std::uint8_t>(0xcc + power));
    put_big_endian(value, 1 << power);
  }
  void put(std::uint8_t byte) { bytes_.push_back(static_cast<char>(byte)); }
  void put_big_endian(std::uint64_t value, int count) {
    for (int shift = 8 * (count - 1); shift >= 0; shift -= 8) put(static_cast<std::uint8_t>(value >> shift));
  }

  std::string bytes_;
};

}  // namespace weir::store
