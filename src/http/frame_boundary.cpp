// SPDX-License-Identifier: Apache-2.0
#include "http/frame_boundary.hpp"

#include <algorithm>

namespace weir::http {
namespace {

constexpr std::uint8_t kMasked = 0x80;
constexpr std::uint8_t kTwoMore = 126;    // octets of length
constexpr std::uint8_t kEightMore = 127;  // octets of length

std::size_t length_octets(std::uint8_t first) noexcept {
  if (first == kTwoMore) return 2;
  return first == kEightMore ? 8 : 0;
}

}  // namespace

std::size_t FrameBoundary::head_length() const noexcept {
  if (head_size_ < 2) return 2;
  const auto first = static_cast<std::uint8_t>(head_[1] & ~kMasked);
  return 2 + length_octets(first) + ((head_[1] & kMasked) != 0 ? 4 : 0);
}

std::uint64_t FrameBoundary::payload_length() const noexcept {
  const auto first = static_cast<std::uint8_t>(head_[1] & ~kMasked);
  const std::size_t octets = length_octets(first);
  if (octets == 0) return first;
  std::uint64_t length = 0;
  for (std::size_t n = 0; n < octets; ++n) length = length << 8U | head_[2 + n];
  return length;
}

void FrameBoundary::pass(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    if (payload_left_ > 0) {
      const auto taken = std::min<std::uint64_t>(payload_left_, bytes.size());
      payload_left_ -= taken;
      bytes.remove_prefix(static_cast<std::size_t>(taken));
      continue;
    }
    head_[head_size_++] = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (head_size_ < head_length()) continue;
    payload_left_ = payload_length();
    head_size_ = 0;
  }
}

}  // namespace weir::http
