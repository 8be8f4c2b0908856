// SPDX-License-Identifier: Apache-2.0
// Log lines of refusals, sampled under attack so that logging never becomes the outage (spec OB-2), and
// weighted so that sums and rankings stay true.
//
// Per cause (the refusing layer) lines are gathered in blocks. One line of each block, drawn with equal
// chances (reservoir sampling), stands for the block and carries its size as `weight`: the weights of a cause
// sum to exactly the number of refusals, and each identity's expected share of them is its true share. While
// a cause is quiet a block is one line. Within each second blocks start at the size that fits the second
// before, and double every eight lines after the fiftieth: about a hundred lines a second, whatever the load.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "telemetry/line_buffer.hpp"
#include "weir/telemetry/records.hpp"

namespace weir::telemetry {

// Single-threaded; bounded: 32 causes are told apart, the rest share one.
class SampledLines {
 public:
  // Appends a line of the record up to, and without, its weight: `{"a":1`.
  using Format = void (*)(std::string& out, const RequestRecord& record);

  SampledLines(LineBuffer& out, Format format) : out_(out), format_(format) {}

  // 0: automatic, as above. Else the share of lines to write, up to 1: blocks have a fixed size.
  void set_fraction(double fraction) noexcept;

  void add(std::string_view cause, const RequestRecord& record, std::int64_t now_ms);
  // Writes what stands for blocks that have been open for a second; all of them with flush().
  void tick(std::int64_t now_ms);
  void flush(std::int64_t now_ms);

 private:
  struct Cause {
    std::string name;
    std::string line;            // drawn so far from the open block
    std::uint64_t pending = 0;   // refusals in the open block
    std::uint64_t block = 1;     // its size when it will be full
    std::uint64_t base = 1;      // block size at the start of this second
    std::uint64_t seen = 0;      // this second
    std::uint64_t written = 0;   // this second
    std::int64_t second_ms = 0;  // when it began
  };
  static constexpr std::size_t kCauses = 32;

  Cause& cause_of(std::string_view name, std::int64_t now_ms);
  void start_second(Cause& cause, std::int64_t now_ms) const;
  void write(Cause& cause, std::int64_t now_ms);
  std::uint64_t random() noexcept;

  LineBuffer& out_;
  Format format_;
  std::uint64_t fixed_block_ = 0;  // 0: automatic
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
  std::array<Cause, kCauses> causes_;
  std::size_t used_ = 0;
};

}  // namespace weir::telemetry
