// SPDX-License-Identifier: Apache-2.0
#include "telemetry/access_log.hpp"

#include "telemetry/json_line.hpp"

namespace weir::telemetry {
namespace {

void text_if(JsonLine& line, const JsonLine::Name& name, std::string_view value) {
  if (!value.empty()) line.text(name, value);
}

}  // namespace

void AccessLog::append(std::string& out, const RequestRecord& r) {
  JsonLine line(out);
  line.time("time", r.wall_ms).text("request_id", r.request_id).text("client", r.client);
  text_if(line, "tls", r.tls);
  line.text("method", r.method).text("path", r.path);
  text_if(line, "route", r.route);
  text_if(line, "api_path", r.api);
  text_if(line, "caller_id", r.caller);
  text_if(line, "user_id", r.user);
  line.number("status", r.status).text("outcome", r.outcome);
  text_if(line, "ending", r.ending);
  line.milliseconds("duration_ms", r.duration_us).milliseconds("limiter_ms", r.limiter_us);
  text_if(line, "upstream", r.upstream);
  text_if(line, "endpoint", r.endpoint);
  if (r.upstream_status != 0) {
    line.number("upstream_status", r.upstream_status).milliseconds("upstream_ms", r.upstream_us);
  }
  text_if(line, "upstream_error", r.upstream_error);
  if (r.attempts > 1) line.number("attempts", r.attempts);
  line.number("bytes_in", static_cast<std::int64_t>(r.bytes_in));
  line.number("bytes_out", static_cast<std::int64_t>(r.bytes_out)).number("cost", r.cost);
  if (r.true_cost != r.cost) line.number("true_cost", r.true_cost);
  if (!r.identity.empty()) line.members("identity", r.identity);
  if (r.exempt) line.flag("exempt", true);
  if (!r.final_hit_layer.empty()) {
    line.text("final_hit_layer", r.final_hit_layer).number("retry_after", r.retry_after_s);
  }
}

void AccessLog::record(const RequestRecord& record, std::int64_t now_ms) {
  now_ms_ = now_ms;
  if (version_ != writers_.version()) tick(now_ms);
  if (!buffer_.on()) return;
  if (!record.final_hit_layer.empty()) {
    refused_.add(record.final_hit_layer, record, now_ms);
    return;
  }
  append(buffer_.text(), record);
  buffer_.text() += ",\"weight\":1}\n";
  buffer_.line_done(now_ms);
}

void AccessLog::tick(std::int64_t now_ms) {
  now_ms_ = now_ms;
  refused_.tick(now_ms);
  if (version_ != writers_.version()) {
    version_ = writers_.version();
    buffer_.set_writer(writers_.access());
  }
  buffer_.tick(now_ms);
}

void AccessLog::flush() {
  refused_.flush(now_ms_);
  buffer_.flush();
}

}  // namespace weir::telemetry
