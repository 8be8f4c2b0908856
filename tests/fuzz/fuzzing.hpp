// SPDX-License-Identifier: Apache-2.0
// What all fuzz targets share. A target defines LLVMFuzzerTestOneInput and states invariants with require():
// one that does not hold ends the process, which is what libFuzzer and the replay both report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace weir::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "invariant broken: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// How bytes arrive. A stream can be cut anywhere, and the result must not depend on it.
enum class Cut { whole, single_bytes, some };

// Ends of the pieces `text` arrives in, the last one text.size(). `some`: of one to 16 bytes, drawn from the
// text itself, so that an input always replays in the same way.
inline std::vector<std::size_t> ends_of_pieces(std::string_view text, Cut cut) {
  std::vector<std::size_t> ends;
  std::uint64_t drawn = stable_hash(text, 1);
  for (std::size_t at = 0; cut != Cut::whole && at + 1 < text.size();) {
    at += cut == Cut::single_bytes ? 1 : 1 + (drawn & 15);
    drawn = drawn * 6364136223846793005U + 1442695040888963407U;
    drawn ^= drawn >> 33;
    if (at < text.size()) ends.push_back(at);
  }
  ends.push_back(text.size());
  return ends;
}

// The parts of `text` between the marks; always at least one.
inline std::vector<std::string_view> parts_of(std::string_view text, std::string_view mark) {
  std::vector<std::string_view> parts;
  for (std::size_t found = text.find(mark); found != std::string_view::npos; found = text.find(mark)) {
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + mark.size());
  }
  parts.push_back(text);
  return parts;
}

}  // namespace weir::fuzz
