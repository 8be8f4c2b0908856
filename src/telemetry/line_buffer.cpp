// SPDX-License-Identifier: Apache-2.0
#include "telemetry/line_buffer.hpp"

namespace weir::telemetry {

void LineBuffer::set_writer(std::shared_ptr<LineWriter> writer) {
  flush();
  writer_ = std::move(writer);
}

void LineBuffer::line_done(std::int64_t now_ms) {
  if (lines_++ == 0) oldest_ms_ = now_ms;
  if (text_.size() >= kFlushBytes) flush();
}

void LineBuffer::tick(std::int64_t now_ms) {
  if (lines_ > 0 && now_ms - oldest_ms_ >= kFlushMs) flush();
}

void LineBuffer::flush() {
  if (writer_ != nullptr) writer_->submit(text_, lines_);
  text_.clear();
  lines_ = 0;
}

}  // namespace weir::telemetry
