// SPDX-License-Identifier: Apache-2.0
// One worker's log lines on their way to a LineWriter: gathered until there are 64 KiB or a second has
// passed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "telemetry/line_writer.hpp"

namespace weir::telemetry {

// Single-threaded. Without a writer, lines vanish.
class LineBuffer {
 public:
  static constexpr std::size_t kFlushBytes = 64 * 1024;
  static constexpr std::int64_t kFlushMs = 1000;

  // Hands over what it holds to the writer it had.
  void set_writer(std::shared_ptr<LineWriter> writer);
  bool on() const noexcept { return writer_ != nullptr; }

  // Append one line, with its newline, to this; then call line_done().
  std::string& text() noexcept { return text_; }
  void line_done(std::int64_t now_ms);

  // Flushes what is older than a second.
  void tick(std::int64_t now_ms);
  void flush();

 private:
  std::shared_ptr<LineWriter> writer_;
  std::string text_;
  std::uint64_t lines_ = 0;
  std::int64_t oldest_ms_ = 0;
};

}  // namespace weir::telemetry
