// SPDX-License-Identifier: Apache-2.0
// How much of what was sent has arrived, as TCP knows it.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::net {

// Bytes that the peer's side of a TCP connection has acknowledged since it began. nullopt: the kernel does
// not say. One system call.
std::optional<std::uint64_t> acknowledged_bytes(int descriptor) noexcept;

}  // namespace weir::net
