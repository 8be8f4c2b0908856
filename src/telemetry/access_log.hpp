// SPDX-License-Identifier: Apache-2.0
// One line per finished request, for one worker. JSON, fields: time, request_id, client, tls, method, path,
// route, api_path, caller_id, user_id, status, outcome, ending, duration_ms, limiter_ms, upstream, endpoint,
// upstream_status, upstream_ms, upstream_error, bytes_in, bytes_out, cost, true_cost, identity,
// exempt, final_hit_layer, retry_after, weight. What does not apply is left out; times are milliseconds,
// sizes octets of body; identity holds what sources said of other dimensions than caller and user. No query
// string and no field of the request is in it. `weir simulate` reads these lines.
//
// Refused requests are sampled under attack like denial lines (sampled_lines.hpp); all others are written,
// each with weight 1, unless the sink cannot keep up.
#pragma once

#include "telemetry/log_writers.hpp"
#include "telemetry/sampled_lines.hpp"

namespace weir::telemetry {

// Single-threaded.
class AccessLog {
 public:
  explicit AccessLog(LogWriters& writers) : writers_(writers), refused_(buffer_, &AccessLog::append) {}
  ~AccessLog() { flush(); }
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void set_refusal_fraction(double fraction) noexcept { refused_.set_fraction(fraction); }
  void record(const RequestRecord& record, std::int64_t now_ms);

  // Twice a second or so: hands over lines, and follows the targets of LogWriters.
  void tick(std::int64_t now_ms);
  void flush();

  static void append(std::string& out, const RequestRecord& record);

 private:
  LogWriters& writers_;
  LineBuffer buffer_;
  SampledLines refused_;
  std::uint64_t version_ = 0;
  std::int64_t now_ms_ = 0;
};

}  // namespace weir::telemetry
