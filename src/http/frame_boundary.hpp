// SPDX-License-Identifier: Apache-2.0
// Where one WebSocket frame ends and the next begins (RFC 6455 5.2), as bytes go by: between two frames, and
// only there, a frame of one's own may be put. Pure; keeps at most one frame's head.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::http {

class FrameBoundary {
 public:
  void pass(std::string_view bytes) noexcept;
  bool reached() const noexcept { return payload_left_ == 0 && head_size_ == 0; }

 private:
  std::size_t head_length() const noexcept;
  std::uint64_t payload_length() const noexcept;

  std::array<std::uint8_t, 14> head_{};
  std::size_t head_size_ = 0;
  std::uint64_t payload_left_ = 0;
};

// Close frames of status 1001, "going away": as a server writes them, and masked, as a client does.
inline constexpr std::string_view kGoingAway("\x88\x02\x03\xe9", 4);
inline constexpr std::string_view kGoingAwayMasked("\x88\x82\0\0\0\0\x03\xe9", 8);

}  // namespace weir::http
