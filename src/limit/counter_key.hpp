// SPDX-License-Identifier: Apache-2.0
// The name of a counter, from root to leaf:
//
//   w2:<node>:<components>:<layer>:<algorithm>:<window>
//   w2:edge-1:{c=acme}:u=alice:user:tb:60000
//
//   w2           version of the stored format
//   x            after the node, for the exempt lane's counters: w2:edge-1:x:{c=acme}:...
//   components   one per dimension of the layer's key: letter=value, `c~` for the one shared key of requests
//                without a value, `n` for the node dimension itself (its value is the second field)
//   {...}        the hash tag, so that a caller's counters share a slot: the caller's component if the key
//   has
//                one, else the first
//   algorithm    two letters (algorithm_table.hpp); window in ms, or day@Zone, month@Zone
//
// No two identities share a key: `: { } % #` and control bytes are written %XX; values longer than 64 bytes
// after that become # and 128 bits of SHA-256. An address is written as a hash (it is personal data). A key
// above kMaxKeyBytes keeps its tag and has # and a digest in place of the components. The limit is never part
// of a key, so that a changed limit keeps what was used.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/limit/limiter_chain.hpp"

namespace weir::limit {

inline constexpr std::size_t kMaxKeyBytes = kKeyBytes / kMaxLayers;
inline constexpr std::size_t kMaxValueBytes = 64;
inline constexpr std::size_t kMaxKeyDimensions = 32;

// The text with special bytes as %XX; longer than `most` bytes: its digest.
std::string escaped(std::string_view text, std::size_t most = kMaxValueBytes);

// The escaped values of one request, each worked out once however many layers use it. Lives on the stack; a
// value without special bytes is not copied.
class ComponentValues {
 public:
  explicit ComponentValues(const Descriptor& who) noexcept : who_(who) {}
  std::string_view of(std::uint8_t dimension);

  bool exempt() const noexcept { return who_.exempt; }
  DescriptorEntry entry(std::uint8_t dimension) const noexcept {
    return dimension < who_.entries.size() ? who_.entries[dimension] : DescriptorEntry{};
  }

 private:
  std::string_view write(std::uint8_t dimension, std::string_view text);

  const Descriptor& who_;
  std::uint32_t known_ = 0;
  std::size_t used_ = 0;
  std::array<const char*, kMaxKeyDimensions> values_;  // of those that are known
  std::array<std::uint32_t, kMaxKeyDimensions> sizes_;
  std::array<char, kMaxKeyDimensions * kMaxValueBytes> bytes_;
};

// A layer's part of the key, compiled once.
class KeyShape {
 public:
  KeyShape(std::string_view node, const Layer& layer, std::uint8_t caller_dimension);

  // Writes the key to `out`, which has room for kMaxKeyBytes; returns its length. No allocation, but for keys
  // that are too long.
  std::size_t write(char* out, ComponentValues& values, const Policy& policy, bool exempt) const;

 private:
  struct Part {
    std::uint8_t dimension;
    std::string lead;  // all before the value: ":{c"
    bool tagged;
  };
  // What stands between two values, with room behind it to be copied in blocks.
  struct Piece {
    std::string text;
    std::size_t size;
  };
  void write_usual_pieces();
  // The key of a request of the usual policy that has all values; 0: it lacks one.
  std::size_t write_usual(char* out, ComponentValues& values) const;
  // Whether the key is within kMaxKeyBytes: with the longest values and a block behind it, with these.
  bool always_fits() const;
  bool fits(ComponentValues& values) const;
  std::size_t write_components(char* out, ComponentValues& values) const;
  std::size_t write_digest(char* out, ComponentValues& values) const;

  std::string head_;         // w2:edge-1:
  std::string exempt_head_;  // w2:edge-1:x:
  std::vector<Part> parts_;
  std::size_t fixed_bytes_ = 0;    // everything but the values
  std::string layer_;              // :user:
  const Policy* usual_ = nullptr;  // most requests' policy; nullptr: none, or its keys may be too long
  std::vector<std::uint8_t> usual_values_;  // by dimension, each between two of
  std::vector<Piece> usual_pieces_;         // w2:edge-1:{c=  }:u=  :user:tb:60000
};

}  // namespace weir::limit
