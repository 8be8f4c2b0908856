// SPDX-License-Identifier: Apache-2.0
#include "telemetry/denial_log.hpp"

#include <array>

#include "telemetry/json_line.hpp"

namespace weir::telemetry {

void DenialLog::append(std::string& out, const RequestRecord& r) {
  std::array<std::string_view, 32> hits;
  std::size_t count = 0;
  for (const LayerRecord& layer : r.layers) {
    if (layer.refused && count < hits.size()) hits[count++] = layer.layer;
  }
  // A layer that blocks its key outright has no charge, but it is what was hit.
  if (count == 0) hits[count++] = r.final_hit_layer;

  JsonLine line(out);
  line.time("time", r.wall_ms)
      .text("final_hit_layer", r.final_hit_layer)
      .texts("hit_layers", {hits.data(), count});
  line.text("caller_id", r.caller).text("user_id", r.user).text("api_path", r.api);
  line.number("limit_value", r.limit_value).number("current_value", r.current_value);
  line.text("request_id", r.request_id).number("retry_after", r.retry_after_s);
  line.text("client", r.client).text("method", r.method).number("status", r.status);
}

void DenialLog::record(const RequestRecord& record, std::int64_t now_ms) {
  if (record.final_hit_layer.empty()) return;
  now_ms_ = now_ms;
  if (version_ != writers_.version()) tick(now_ms);
  if (buffer_.on()) lines_.add(record.final_hit_layer, record, now_ms);
}

void DenialLog::tick(std::int64_t now_ms) {
  now_ms_ = now_ms;
  lines_.tick(now_ms);
  if (version_ != writers_.version()) {
    version_ = writers_.version();
    buffer_.set_writer(writers_.denials());
  }
  buffer_.tick(now_ms);
}

void DenialLog::flush() {
  lines_.flush(now_ms_);
  buffer_.flush();
}

}  // namespace weir::telemetry
